// Package watch reads figures of a server process on one time axis, and marks those that
// cross a threshold.
//
//	Sampler (kernel, Go runtime) ──▶ Reading ──▶ ledger ──▶ Sample ──▶ Event
//	                                                          ├──▶ history ──▶ Mark
//	                                                          └──▶ Summary
//
// A [Sampler] sets gauges and passes on counters as their source has them. The ledger turns
// counters into totals since the watch began, and into rates. A figure that could not be read
// is absent from the sample, never zero, and is reported once with the reason.
//
// The package is calculation on a clock: the samplers of Linux are in the package kernel, the
// outputs in the package output, and the package command connects them.
package watch
