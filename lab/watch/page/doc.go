// Package page writes the HTML page of a watch: its figures over time, the marks that were
// crossed, and a table of all figures with their sources. The page works from a file, without a
// network.
//
//	watch.Event ──▶ Page (columns of a bounded number) ──▶ charts ──▶ HTML
//
// The charts are drawn by the script of all pages, lab/report/web/src/run.ts.
package page
