// Package run takes a client of the load generator through the phases of a run, and
// reports them as a sequence of [spec.Event] values:
//
//	connect ──▶ warm-up ──▶ window ──▶ finish ──▶ Result
//	            ticks       ticks
//
// A [Client] generates the load: package request with requests and answers, package
// subscribe with subscribers to event streams. It has the connections, errors and
// counters. This package decides when a tick ends, when the rate is steady and when the
// window is over or cut short, and measures CPU time.
//
// The warm-up of a load of requests continues while its rate has a trend, for three times
// Spec.Warmup at most. It is not extended for one of several generators (Spec.Member),
// because the others would have to wait, nor for subscribers, because the server decides
// how many events it sends.
package run
