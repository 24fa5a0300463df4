// Package present is what a load run leaves behind, and how it is shown: while it
// runs ([Live]), as a summary ([Summary]), as JSON ([Document.Encode]), a time
// series ([CSV]) and an HdrHistogram log ([HDR]). Its page is package page's.
//
//	load.Tick ───▶ Live, Point ─┐
//	load.Result ─▶ Fill ────────┴▶ Document ─▶ Summary, CSV, HDR, JSON, page
//
// It reads no clock and no process: what is shown comes from its callers.
package present
