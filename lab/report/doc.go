// Package report renders a results file as tables for a terminal or a README ([Table])
// and as one HTML page with charts ([HTML]).
//
//	results.File ─┬─ rows.go    a workload's subjects in order, one row each ─┬─ table.go  text
//	              ├─ words.go   notices, noise floors, verdicts ──────────────┤
//	              └─ view.go    curves, heat maps, aligned series ────────────┴─ html.go   page
//
// Everything is calculated here; the page's script (web/src) only draws. Percentiles
// are never averaged: they come from the merged histograms of the file, and a percentile
// with too few samples is left out.
//
// A results file contains foreign text: names, titles, the standard error of servers.
// All of it is treated as hostile and escaped for its medium.
package report
