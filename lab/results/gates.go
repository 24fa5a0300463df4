package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Gate is a condition that figures of a run depend on.
type Gate struct {
	Name   string  `json:"name"` // steal, errors, steady, ...
	Passed bool    `json:"passed"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Text   string  `json:"text"` // message to print if it failed
	// Disturbance says that a failure is the machine's: the run is disturbed, not invalid.
	Disturbance bool `json:"disturbance,omitempty"`
	// Spoils lists the figures that a failure makes unusable: all of them if it is empty.
	Spoils []Figure `json:"spoils,omitempty"`
}

// A Figure is a kind of figure of a run, for all of which the same gates decide whether they can
// be used. Memory, allocations, bytes, errors and connections are none: nothing spoils them.
type Figure string

// The figures that gates may spoil.
const (
	FigureCPU     Figure = "cpu"     // CPU time a request
	FigureRate    Figure = "rate"    // requests a second of a closed loop
	FigureLatency Figure = "latency" // quantiles
)

// Valid reports whether the answers were right and the generator was able to measure them: no gate
// failed, except those of disturbances.
func Valid(gates []Gate) bool {
	return !slices.ContainsFunc(gates, func(g Gate) bool { return !g.Passed && !g.Disturbance })
}

// Disturbed returns the gates that failed because the machine was disturbed.
func Disturbed(gates []Gate) (failed []Gate) {
	for _, g := range gates {
		if !g.Passed && g.Disturbance {
			failed = append(failed, g)
		}
	}
	return failed
}

// Spoilers returns the failed gates that make a figure unusable.
func Spoilers(gates []Gate, f Figure) (failed []Gate) {
	for _, g := range gates {
		if !g.Passed && (len(g.Spoils) == 0 || slices.Contains(g.Spoils, f)) {
			failed = append(failed, g)
		}
	}
	return failed
}

// CountErrors returns the sum over all kinds.
func CountErrors(errors map[string]uint64) (n uint64) {
	for _, k := range errors {
		n += k
	}
	return n
}

// ErrorKinds lists counts with their kinds: "reset 3, status 1".
func ErrorKinds(counts map[string]uint64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return strings.Join(parts, ", ")
}
