// Package page renders a load run as one HTML page with charts over time. The page is
// self-contained: it needs no network and no other file.
//
//	present.Document ─┬─ figures.go  verdict, thresholds, figures in words ─┐
//	                  ├─ charts.go   figures over time, on columns.go ──────┼─ page.go
//	                  └─ tables.go   steps, targets, workers, gates ────────┘
//
// Everything is calculated here; the page's script (lab/report/web/src/run.ts) only draws. A
// document contains foreign text: URLs, names of targets, errors. All of it is treated as
// hostile, and escaped.
package page
