// Package fleet combines several processes into one load generator. Each worker generates a
// share of the load. The coordinator starts the workers together and merges their results.
//
//	spec.Spec ── Divide ──▶ Order ... ──▶ Coordinate ──▶ Worker ... ──▶ Generate
//	                                          │
//	spec.Result ◀── Merge ── Outcome ◀────────┘
//
// Coordinator and workers do not interpret orders: a [Generator] receives the specification
// of a share as JSON and reports events as JSON, of which only the fields that are merged
// during the run are read. [Divide], [Generate] and [Merge] use the complete types.
//
// # A run
//
//	coordinator                              worker
//	                                  <---   Join      every 250 ms until the first Beat
//	Beat     its time             --->
//	                                  <---   Echo      both times: the clocks' offset
//	Order    share, specification --->
//	                                         connects
//	                                  <---   Ready
//	Start    a time of its clock  --->
//	                                  <---   Began
//	                                  <---   Report    ticks, then the result
//	Beat                          --->
//	                                  <---   Echo      both are alive
//	Cut                           --->            interrupted: the result now
//	Stop                          --->
//
// A worker that sends nothing for Plan.Silence is lost. Before the start that ends the run.
// After the start the other workers continue. The outcome reports which worker was lost,
// when, and its share of the plan; its counts remain correct for what was measured.
//
// A worker that receives nothing from its coordinator stops, so that no worker outlives a
// coordinator that was killed.
//
// # One clock
//
// Each process counts time on its monotonic clock from one reading of its wall clock, so
// that changes of the system time do not disturb a run. The coordinator's clock is the
// agreed one. A worker's offset from it is estimated as in NTP (RFC 5905, section 8), from
// the exchange with the shortest round trip:
//
//	T0 ─── Beat ──▶ T1
//	T3 ◀── Echo ─── T2       offset = ((T1-T0)+(T2-T3))/2 ± ((T3-T0)-(T2-T1))/2
//
// The bound is valid for any latencies of the two directions. It is in the outcome.
//
// # Merging
//
// Histograms are merged bucket by bucket, which is exact; quantiles are never averaged. A
// worker's tick covers an interval of the agreed clock that may overlap several points of
// the common series. Its counts are divided among them by time, in whole requests; none is
// lost or counted twice.
//
// # Carriers
//
// A [Carrier] transports messages to workers and back: [Processes] over the pipes of child
// processes, package bus over NATS.
package fleet
