package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is the name of a profile of the Go runtime: its name in net/http/pprof, or cpu.
type Kind string

// CPU is the profile of CPU time.
const CPU Kind = "cpu"

// lasting contains all kinds; the value is true for profiles that cover a time span.
var lasting = map[Kind]bool{CPU: true, "mutex": true, "block": true, "allocs": true, "heap": false, "goroutine": false, "threadcreate": false}

// Lasting reports whether profiles of the kind cover a time span.
func (k Kind) Lasting() bool { return lasting[k] }

// Parse parses a list of kinds, for example "cpu,heap". Its errors say what to write
// instead.
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
