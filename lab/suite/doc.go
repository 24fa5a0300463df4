// Package suite compares servers. It starts every subject as a separate process,
// drives it with a generator process on another core, block by block in random
// order, and draws the conclusions that the figures support.
//
//	Plan        blocks of (workload, subject) in random order, from a seed
//	 └ run      fresh server, fresh generator, one window
//	    ├ gates what disturbed it, and which figures that spoils
//	    └ Run   the figures
//	pairs       of a subject and the baseline, block by block, as far as they are usable
//	conclude    cells, comparisons, the noise floor from the A/A twin
//
// A block is never run again. More are added while a workload has too few usable pairs in its main
// metric and there is time.
//
// The baseline runs twice in every block, the second time as its twin. Differences
// between the two are noise by construction: a smaller difference between subjects is
// never reported as one.
//
// Nothing that the suite starts outlives it. Every process group is registered with
// the guard (package guard) when it starts, and ends with its run.
package suite
