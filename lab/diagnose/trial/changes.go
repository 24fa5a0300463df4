package trial

import (
	"fmt"
	"math"
	"slices"

	"github.com/redline-go/redline/lab/diagnose"
)

// The most changes that are tried: each takes a run in every block.
const most = 4

// leastAnswer is the size of an answer, in bytes, from which compressing it may matter.
const leastAnswer = 4 << 10

// Can says what may be tried.
type Can struct {
	Start bool // the server is started for each run, and may be started differently
	Ask   bool // requests may have further fields: they do not ask for compressed answers yet
}

// Changes returns what is worth trying, most relevant first: changes that a cause predicts a gain
// from, and those that often help.
func Changes(e *diagnose.Evidence, causes []diagnose.Cause, can Can) []Change {
	list := []Change{
		{Name: "twice the connections", Factor: 2},
		{Name: "a new connection for each request", Fresh: true},
	}
	if knee := e.Knee(); can.Ask && knee != nil && knee.Answer >= leastAnswer {
		list = slices.Insert(list, 1, Change{Name: "answers in gzip", Header: "Accept-Encoding: gzip"})
	}
	if can.Start {
		list = slices.Insert(list, 0, huge(&e.Server)...)
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

// huge returns the other choice about transparent huge pages, where a variable of the environment
// makes it.
func huge(s *diagnose.Server) []Change {
	switch {
	case s.HugePages == "always" && s.Language == "go":
		return []Change{{Name: "without transparent huge pages", Env: []string{join(s.Settings["GODEBUG"], ",", "disablethp=1", "GODEBUG")}}}
	case s.HugePages == "madvise" && s.Language != "go" && s.Language != "":
		return []Change{{Name: "with transparent huge pages", Env: []string{join(s.Settings["GLIBC_TUNABLES"], ":", "glibc.malloc.hugetlb=1", "GLIBC_TUNABLES")}}}
	}
	return nil
}

// join adds a setting to those of a variable.
func join(before, separator, setting, variable string) string {
	if before != "" {
		setting = before + separator + setting
	}
	return variable + "=" + setting
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
