// Package crew makes a fleet of load generators: it divides what one generator
// would be asked to do over several workers, is the generator of each of them,
// and makes one result of theirs.
//
//	load.Spec ── Orders ──▶ fleet.Order ... ──▶ Generate, in each worker
//	                                                  │
//	load.Result ◀── Merge ── fleet.Outcome ◀──────────┘
package crew
