package trial

import (
	"fmt"
	"math"
	"slices"

	"github.com/redline-go/redline/lab/diagnose"
)

// The most changes that are tried: each takes a run in every block.
const most = 4

// Changes returns what is worth trying, most relevant first: changes that a cause predicts a gain
// from, and those that often help. Only a server that was started can be started differently.
func Changes(e *diagnose.Evidence, causes []diagnose.Cause, started bool) []Change {
	list := []Change{
		{Name: "twice the connections", Factor: 2},
		{Name: "a new connection for each request", Fresh: true},
	}
	if started {
		if e.Server.CPUs > 1 {
			list = slices.Insert(list, 0, Change{Name: "pinned to one CPU", CPUs: 1})
		}
		if e.Server.Language == "go" {
			list = slices.Insert(list, 0, ofGo(&e.Server)...)
		}
	}
	predicted := map[string]bool{}
	for _, c := range causes {
		predicted[c.ID] = true
	}
	var chosen, others []Change
	for _, c := range list {
		if confirms(c, predicted) {
			chosen = append(chosen, c)
		} else {
			others = append(others, c)
		}
	}
	chosen = append(chosen, others...)
	return chosen[:min(len(chosen), most)]
}

func confirms(c Change, predicted map[string]bool) bool {
	for _, id := range c.Confirms {
		if predicted[id] {
			return true
		}
	}
	return false
}

// highGOGC is a GOGC from which a higher one gains little.
const highGOGC = 400

// ofGo returns the settings of the Go runtime that are worth trying.
func ofGo(s *diagnose.Server) (list []Change) {
	// With a high GOGC already, a low one shows what it is worth, and confirms nothing.
	gogc := Change{Name: "GOGC=100", Env: []string{"GOGC=100"}}
	if s.GOGC < highGOGC {
		gogc = Change{Name: "GOGC=400", Env: []string{"GOGC=400"}, Confirms: []string{"gc-pressure", "gogc-thrash"}}
	}
	list = append(list, gogc)
	if s.GoMemoryLimit > 0 {
		double := int64(2 * s.GoMemoryLimit)
		list = append(list, Change{Name: fmt.Sprintf("GOMEMLIMIT=%d", double), Env: []string{fmt.Sprintf("GOMEMLIMIT=%d", double)}, Confirms: []string{"gogc-thrash"}})
	}
	if procs := max(1, int(math.Ceil(s.Cores()))); s.Procs > 0 && procs != s.Procs {
		list = append(list, Change{Name: fmt.Sprintf("GOMAXPROCS=%d", procs), Env: []string{fmt.Sprintf("GOMAXPROCS=%d", procs)}, Confirms: []string{"gomaxprocs-quota", "pinning"}})
	}
	return list
}
