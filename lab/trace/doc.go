// Package trace reads execution traces of Go programs, and reports where goroutines waited.
//
//	bytes ─▶ fence ─▶ golang.org/x/exp/trace.Reader ─▶ analysis ─▶ Report
//	         bounds a generation                       ├ scheduler   waits in run queues, Ps, lanes
//	                                                   ├ syscalls    durations, lost Ps
//	                                                   ├ collector   cycles, pauses, assists
//	                                                   ├ blocks      by reason and stack
//	                                                   ├ lives       goroutines by function
//	                                                   └ spans       requests, tasks, regions
//
// A trace is read once. The reader holds one generation of it, which is about a second of the
// program; the analysis holds histograms, a state for each live goroutine, and tables with a
// fixed number of rows. What a full table leaves out is counted (docs/adr/0052-traces.md).
package trace
