// Package compare computes the changes between two load runs.
//
//	present.Document ─┬─ asked.go   did both request the same load?
//	                  ├─ series.go  slices of time, resampled in blocks ─┐
//	                  └─ compare.go figures of the whole runs ───────────┴─ Comparison ─┬─ print.go
//	                                                                   limit.go ────────┘
//
// A change is the second run's figure divided by the first's. Its interval comes from the
// slices of both windows (stats.CompareSlices): it reflects the variation of the figure within a
// run, not the variation from run to run.
package compare
