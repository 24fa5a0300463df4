// Package export sends the figures of a run to systems that store and draw metrics, while
// it goes on and at its end.
//
//	present.Point, Document ──▶ Exporter ──▶ snapshot ──┬──▶ scraped   Prometheus fetches it
//	                            figures.go, result.go   └──▶ queue ──▶ remote write, OTLP, InfluxDB
//
// A snapshot has all metrics at one moment; each format is one file that writes snapshots.
// Nothing here makes the load wait: a receiver that is too slow loses points, which are
// counted.
package export
