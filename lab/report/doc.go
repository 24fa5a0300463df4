// Package report says what a results file holds, to people: as tables for a
// terminal or a README ([Table]) and as one HTML page with charts ([HTML]).
//
//	results.File ─┬─ rows.go    a workload's subjects in order, one row each ─┬─ table.go  text
//	              ├─ words.go   what is wrong, the noise floor, the verdicts ─┤
//	              └─ view.go    curves, heat grids, aligned series ───────────┴─ html.go   page
//
// Everything is calculated here; the page's script (web/src) draws and does no
// more. Nothing is averaged that must not be: percentiles come from the merged
// histograms of the file, and one that its samples cannot carry is left out.
//
// A results file holds text of others: names, titles, what a server wrote
// before it died. All of it is taken as hostile and is escaped for its medium.
package report
