// Package fleet makes one load generator of several processes: workers, which
// each carry a share of the load, under one coordinator, which starts them
// together and makes one result of theirs.
//
//	spec.Spec ── Divide ──▶ Order ... ──▶ Coordinate ──▶ Worker ... ──▶ Generate
//	                                          │
//	spec.Result ◀── Merge ── Outcome ◀────────┘
//
// Coordinator and workers do not know what is in an order: a [Generator] is given a
// share's specification as JSON and reports events as JSON, of which the few fields
// that have to be merged on the way are read. [Divide], [Generate] and [Merge] know.
//
// # A run
//
//	coordinator                              worker
//	                                  <---   Join      every 250 ms until it is heard
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
// A worker that is not heard for a while is lost. Before the start that ends the
// run, as there is no plan without it. After the start the others go on: the
// outcome says in words who was lost, when, and how much of the plan with it,
// and what it counts is right for what was measured.
//
// A worker that does not hear its coordinator stops by itself, so that nothing
// outlives a coordinator that was killed.
//
// # One clock
//
// Each process counts time on its monotonic clock from a reading of its wall
// clock, so that nothing that sets the time of a machine disturbs a run. The
// coordinator's is the agreed one. A worker's offset from it is estimated as NTP
// does (RFC 5905, section 8), from the exchange with the shortest round trip:
//
//	T0 ─── Beat ──▶ T1
//	T3 ◀── Echo ─── T2       offset = ((T1-T0)+(T2-T3))/2 ± ((T3-T0)-(T2-T1))/2
//
// The bound holds whatever the two ways of the trip take. It is in the outcome.
//
// # Merging
//
// Histograms are merged bucket by bucket, which is exact; quantiles are never
// averaged. A tick of a worker covers an interval of the agreed clock that falls
// on the points of the common series in parts; its counts are divided by time,
// in whole requests, and none is lost or counted twice.
//
// # Carriers
//
// A [Carrier] takes messages to workers and back: [Processes] over the pipes of
// child processes, package bus over NATS.
package fleet
