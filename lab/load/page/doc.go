// Package page makes one HTML page of a load run, with charts over its seconds. The page
// needs nothing else: no network, no other file.
//
//	present.Document ─┬─ figures.go  verdict, thresholds, figures in words ─┐
//	                  ├─ charts.go   figures over time, on columns.go ──────┼─ page.go
//	                  └─ tables.go   steps, targets, workers, gates ────────┘
//
// Everything is calculated here; the page's script (lab/report/web/src/run.ts) draws and
// does no more. A document holds text of others: URLs, names of targets, errors. All of
// it is taken as hostile, and is escaped.
package page
