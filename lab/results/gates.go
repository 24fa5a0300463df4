package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Valid reports whether all gates passed.
func Valid(gates []Gate) bool {
	return !slices.ContainsFunc(gates, func(g Gate) bool { return !g.Passed })
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
