// Package suite compares servers: it starts every subject as a process of its
// own, drives it with a generator process on another core, block by block in
// random order, and draws the conclusions that the figures carry.
//
//	Plan        blocks of (workload, subject) in random order, from a seed
//	 └ run      fresh server, fresh generator, one window
//	    ├ gates what makes this run doubtful; an invalid block is run once more
//	    └ Run   the figures
//	conclude    cells, comparisons, the noise floor from the A/A twin
//
// The baseline takes part twice in every block. The second time it is called
// the twin, and what separates the two is noise by construction: no difference
// smaller than that is ever called one.
//
// Nothing that the suite starts outlives it. Every process group is told to the
// guard before it does anything (package guard), and ends with its run.
package suite
