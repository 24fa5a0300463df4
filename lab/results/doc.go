// Package results is the file that a comparison leaves behind: results.json.
//
// One [File] holds everything that was asked for, everything that was measured
// and everything that was concluded, so that a report, a later comparison or a
// reader with jq needs nothing else. The suite writes it, the report reads it.
//
//	File
//	├── Machine      what it ran on
//	├── Config       what was asked for
//	├── Subjects     who took part
//	├── Workloads    what they were asked to do
//	├── Runs         one measured process each: the raw figures
//	├── Cells        one subject under one workload, over its blocks
//	├── Comparisons  one subject against the baseline, one metric each
//	└── Gates        what makes the whole doubtful
//
// The schema is versioned. A reader refuses a version it does not know; a field
// is never given a new meaning within a version, only added.
//
// Units are in the names of the fields: _us microseconds, _seconds, _bytes.
// Latencies are microseconds throughout.
package results
