// Package compare says what changed between two load runs.
//
//	present.Document ─┬─ asked.go   did both ask for the same?
//	                  ├─ series.go  slices of time, resampled in blocks ─┐
//	                  └─ compare.go figures of the whole runs ───────────┴─ Comparison ─┬─ print.go
//	                                                                   limit.go ────────┘
//
// A change is the second run's figure over the first's. Its interval comes from the
// slices of both windows (stats.CompareSlices): it knows how far the figure wanders within
// a run, not how far one run is from the next.
package compare
