package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The families of workloads: one workload in several sizes. Their names say which.
const (
	familyAt    = "at"       // at25: at a quarter of what limit reaches in the same run
	familyRedis = "redis"    // redis: a closed loop; redis-2000: so many requests a second
	familyPg    = "postgres" // postgres: a closed loop; postgres-2000: so many requests a second
	familyWait  = "wait"     // wait-300us: a closed loop; wait-300us-4000: so many a second
	familyFan   = "fanout"   // fanout: a closed loop; fanout-500: so many a second
	familyMixed = "mixed"    // mixed-300us: quick requests beside some that take so much CPU
	familySizes = "sizes"    // get1k to get10m, post1k, post20k, and mix: answers and bodies of those sizes
)

// standard is the workloads of a family that its group stands for.
var standard = map[string][]string{
	familyAt:    {"at5", "at10", "at25", "at50"},
	familyRedis: {"redis-500", "redis-2000", "redis-5000", "redis-20000", "redis"},
	familyPg:    {"postgres-500", "postgres-2000", "postgres-5000", "postgres"},
	familyWait: {
		"wait-60us-1000", "wait-60us-8000", "wait-150us-1000", "wait-150us-8000", "wait-300us-1000", "wait-300us-8000",
		"wait-700us-1000", "wait-700us-8000", "wait-1ms-1000", "wait-1ms-8000", "wait-1ms",
	},
	familyFan:   {"fanout-500", "fanout-2000", "fanout"},
	familyMixed: {"mixed-300us", "mixed-900us", "mixed-5ms"},
	familySizes: {"get1k", "get16k", "get256k", "get10m", "post1k", "post20k", "mix"},
}

// families is their order in lists.
var families = []string{familyAt, familyRedis, familyPg, familyWait, familyFan, familyMixed, familySizes}

// groupEnd makes the name of a group of that of a family.
const groupEnd = "-all"

// everything is the group of all workloads.
const everything = "all"

// Expand replaces the names of groups by those of their workloads: all, and at-all,
// redis-all, postgres-all, wait-all, fanout-all, mixed-all, sizes-all.
func Expand(names []string) []string {
	var out []string
	for _, name := range names {
		family, isGroup := strings.CutSuffix(name, groupEnd)
		switch {
		case name == everything:
			out = append(out, Workloads()...)
			for _, f := range families {
				out = append(out, standard[f]...)
			}
		case isGroup && standard[family] != nil:
			out = append(out, standard[family]...)
		default:
			out = append(out, name)
		}
	}
	return out
}

// known is what a name of a workload may be, in words.
func known() []string {
	names := slices.Clone(Workloads())
	for _, f := range families {
		names = append(names, standard[f]...)
	}
	return append(names, "at1 to at99", "redis-RATE", "postgres-RATE", "wait-TIME-RATE", "fanout-RATE")
}

// findWorkload returns the workload of that name, nil if there is none.
func findWorkload(name string) *workload {
	all := workloads()
	if i := slices.IndexFunc(all, func(w workload) bool { return w.name == name }); i >= 0 {
		return &all[i]
	}
	for _, find := range []func(string) *workload{findAt, findRedis, findPostgresRow, findWait, findFanout, findMixed, findSize} {
		if w := find(name); w != nil {
			w.name = name
			return w
		}
	}
	return nil
}

var (
	atName    = regexp.MustCompile(`^at([1-9][0-9]?)$`)
	redisName = regexp.MustCompile(`^redis(?:-([1-9][0-9]{0,6}))?$`)
	pgName    = regexp.MustCompile(`^postgres(?:-([1-9][0-9]{0,6}))?$`)
	fanName   = regexp.MustCompile(`^fanout(?:-([1-9][0-9]{0,6}))?$`)
	waitName  = regexp.MustCompile(`^wait-([1-9][0-9]*(?:us|ms))(?:-([1-9][0-9]{0,6}))?$`)
)

// findAt makes the workloads at a share of limit's closed loop: all subjects get the
// same rate.
func findAt(name string) *workload {
	m := atName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	percent := number(m[1])
	w := plaintext()
	w.title = fmt.Sprintf("Poisson arrivals at %.0f %% of what %s reaches", percent, floorName)
	w.family, w.ceiling, w.floor = familyAt, percent/100, true
	return &w
}

// findRedis makes the workloads of one GET from Redis a request.
func findRedis(name string) *workload {
	m := redisName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	w := plaintext()
	w.title, w.path, w.answer.body = "GET of 64 bytes from Redis", "/redis", []byte(redisValue)
	w.family, w.backend, w.floor = familyRedis, backendRedis, false
	return w.at(m[1])
}

// findPostgresRow makes the workloads of one row from PostgreSQL a request.
func findPostgresRow(name string) *workload {
	m := pgName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	w := plaintext()
	w.title, w.path, w.answer.body = "One row from PostgreSQL", "/postgres", []byte(redisValue)
	w.family, w.backend, w.floor = familyPg, backendPostgres, false
	return w.at(m[1])
}

// findWait makes the workloads of one question a request to a backend that takes its
// time.
func findWait(name string) *workload {
	m := waitName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	if d, err := time.ParseDuration(m[1]); err != nil || d > longestWait {
		return nil
	}
	w := plaintext()
	w.title, w.path = "A backend that answers after "+m[1], "/wait?wait="+m[1]
	w.family, w.backend, w.floor = familyWait, backendWait, false
	return w.at(m[2])
}

// fanWait is how long each of the calls of a fan-out takes.
const fanWait = time.Millisecond

// findFanout makes the workloads of three calls at once a request, whose answers are
// joined.
func findFanout(name string) *workload {
	m := fanName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	w := plaintext()
	w.title = fmt.Sprintf("Three HTTP calls at once, of %v each, joined", fanWait)
	w.path = fmt.Sprintf("/fanout?wait=%v", fanWait)
	w.family, w.backend, w.floor = familyFan, backendFanout, false
	return w.at(m[1])
}

// at makes it an open loop of a rate, or leaves it a closed one.
func (w *workload) at(rate string) *workload {
	if rate != "" {
		w.rate = number(rate)
		w.title += fmt.Sprintf(", %s a second", rate)
	} else {
		w.title += ", a closed loop"
	}
	return w
}

// mixes is how many requests a second take how much CPU, beside quickRate quick ones:
// a sixth to a third of a core.
var mixes = []struct {
	cpu  time.Duration
	rate float64
}{{300 * time.Microsecond, 600}, {900 * time.Microsecond, 300}, {5 * time.Millisecond, 60}}

const quickRate = 2000 // a second

// findMixed makes the workloads of quick requests beside slow ones. Latencies are those
// of the quick ones.
func findMixed(name string) *workload {
	for _, m := range mixes {
		if name != familyMixed+"-"+m.cpu.String() && name != familyMixed+"-"+strings.Replace(m.cpu.String(), "µ", "u", 1) {
			continue
		}
		w := plaintext()
		w.title = fmt.Sprintf("%d quick requests a second beside %.0f that take %v of CPU: latencies of the quick ones", quickRate, m.rate, m.cpu)
		w.family, w.rate, w.floor = familyMixed, quickRate+m.rate, false
		w.beside = &beside{cpu: m.cpu, rate: m.rate}
		return &w
	}
	return nil
}

// number is the value of digits.
func number(digits string) float64 {
	n, _ := strconv.ParseFloat(digits, 64) // the pattern lets digits through, and nothing else
	return n
}
