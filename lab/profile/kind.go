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

// Kinds of profiles that the Go runtime does not offer: they are taken from outside.
const (
	OffCPU Kind = "offcpu" // time that threads were blocked, by stack
	Wall   Kind = "wall"   // time of goroutines, by stack, state and reason to wait
)

// Outside reports whether profiles of the kind are only taken from outside.
func (k Kind) Outside() bool { return k == OffCPU || k == Wall }

// lasting contains all kinds of the runtime; the value is true for profiles that cover a time span.
var lasting = map[Kind]bool{CPU: true, "mutex": true, "block": true, "allocs": true, "heap": false, "goroutine": false, "threadcreate": false}

// Lasting reports whether profiles of the kind cover a time span.
func (k Kind) Lasting() bool { return lasting[k] || k.Outside() }

// Parse parses a list of kinds of the runtime, for example "cpu,heap". Its errors say what to write
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
