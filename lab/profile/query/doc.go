// Package query answers questions about a profile of pprof: how much is under certain functions,
// who calls them, what is on top.
//
//	*profile.Profile ─▶ New ─▶ Profile: samples as numbers of functions, each function classified
//	                             ├ Total, Sum, Share     each sample once, whatever its depth
//	                             ├ Top                   flat and cumulative values
//	                             ├ Callers               the code above that a reader may change
//	                             └ Select                a part of the samples
//
// The package performs no I/O. [New] takes time and memory in proportion to the profile; the
// questions are loops over numbers, some milliseconds for 100,000 samples.
package query
