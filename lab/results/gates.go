package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
