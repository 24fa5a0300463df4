// Package output shows what package watch sees: as JSON lines (docs/watch.md), as a live view
// and a summary for people, and as metrics for Prometheus.
package output
