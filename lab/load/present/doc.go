// Package present is what a load run leaves behind, and how it is shown: while it
// runs ([Live]), as a summary ([Summary]), as JSON ([Document.Encode]), a time
// series ([CSV]), an HdrHistogram log ([HDR]) and a page ([File], for package
// report).
//
//	load.Tick ───▶ Live, Point ─┐
//	load.Result ─▶ Fill ────────┴▶ Document ─▶ Summary, CSV, HDR, File, JSON
//
// It reads no clock and no process: what is shown comes from its callers.
package present
