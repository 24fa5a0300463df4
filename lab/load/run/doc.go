// Package run takes a client of the load generator through the phases of a run, and
// reports them as a sequence of [spec.Event] values:
//
//	connect ──▶ warm-up ──▶ window ──▶ finish ──▶ Result
//	            ticks       ticks
//
// A [Client] makes the load: package request with requests and answers, package
// subscribe with subscribers of event streams. It knows its connections, its errors
// and its counters. This package knows the time: when a tick ends, when the rate is
// steady, when the window is over or cut short, and what CPU time went by.
//
// A load of requests stays in the warm-up while its rate has a trend, for three times
// Spec.Warmup at most. Two loads do not: one of several generators (Spec.Member),
// because the others would have to wait, and subscribers, because the server decides
// how many events come.
package run
