package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is a profile of the Go runtime by its name: that in net/http/pprof, and
// cpu.
type Kind string

// CPU is the one that says where the time is spent.
const CPU Kind = "cpu"

// lasting holds all kinds: whether one covers a time, or is of a moment.
var lasting = map[Kind]bool{CPU: true, "mutex": true, "block": true, "allocs": true, "heap": false, "goroutine": false}

// Lasting reports whether profiles of the kind cover a time.
func (k Kind) Lasting() bool { return lasting[k] }

// Parse reads a list of kinds, as "cpu,heap". Its errors say what to write.
func Parse(list string) ([]Kind, error) {
	var out []Kind
	for word := range strings.SplitSeq(list, ",") {
		k := Kind(strings.TrimSpace(word))
		if _, ok := lasting[k]; !ok {
			var known []string
			for _, k := range slices.Sorted(maps.Keys(lasting)) {
				known = append(known, string(k))
			}
			return nil, fmt.Errorf("%q is no profile: write some of %s", word, strings.Join(known, ","))
		}
		if slices.Contains(out, k) {
			return nil, fmt.Errorf("%s is named twice", k)
		}
		out = append(out, k)
	}
	return out, nil
}
