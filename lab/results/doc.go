// Package results defines the file that a comparison writes: results.json.
//
// A [File] contains everything that was requested, measured and concluded, so that a
// report, a later comparison or a reader with jq needs nothing else. The suite writes it,
// the report reads it.
//
//	File
//	├── Machine      the machine it ran on
//	├── Config       what was requested
//	├── Subjects     the servers that took part
//	├── Workloads    the loads that they received
//	├── Runs         one measured process each: the raw figures
//	├── Cells        one subject under one workload, over its blocks
//	├── Comparisons  one subject against the baseline, one metric each
//	└── Gates        what makes the whole doubtful
//
// The schema is versioned. A reader rejects a version that it does not know. Within a
// version fields are only added; the meaning of a field never changes.
//
// Units are part of the field names: _us microseconds, _seconds, _bytes. All latencies are
// in microseconds.
package results
