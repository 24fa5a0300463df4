// Package present holds the record of a load run and its output formats: a live view
// ([Live]), a summary ([Summary]), JSON ([Document.Encode]), a time series ([CSV]) and an
// HdrHistogram log ([HDR]). Package page writes it as HTML.
//
//	load.Tick ───▶ Live, Point ─┐
//	load.Result ─▶ Fill ────────┴▶ Document ─▶ Summary, CSV, HDR, JSON, page
//
// It reads no clock and no process: its callers provide all figures.
package present
