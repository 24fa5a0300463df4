// Package export sends the figures of a run to metrics systems, during the run and at its end.
//
//	present.Point, Document ──▶ Exporter ──▶ snapshot ──┬──▶ scraped   Prometheus fetches it
//	                            figures.go, result.go   └──▶ queue ──▶ remote write, OTLP, InfluxDB
//
// A snapshot has all metrics at one time; each format is one file that writes snapshots. The
// package never blocks the load: a receiver that is too slow loses points, which are counted.
package export
