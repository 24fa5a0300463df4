package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The families of workloads: one workload in several sizes, which the names contain.
const (
	familyAt    = "at"       // at25: 25 % of limit's maximum rate in the same run
	familyRedis = "redis"    // redis: a closed loop; redis-2000: 2000 requests per second
	familyPg    = "postgres" // postgres: a closed loop; postgres-2000: 2000 requests per second
	familyWait  = "wait"     // wait-300us: a closed loop; wait-300us-4000: 4000 requests per second
	familyFan   = "fanout"   // fanout: a closed loop; fanout-500: 500 requests per second
	familyMixed = "mixed"    // mixed-300us: quick requests, and some that take 300 us of CPU
	familySizes = "sizes"    // get1k to get10m, post1k, post20k, and mix: bodies of these sizes
	familyHTTPS = "https"    // tls, tls-at25, tls-resume, tls-full: HTTP/1.1 over TLS
	familyPush  = "push"     // push-1k, push-10k, push-100k, push-topics: events that clients publish
	familyFeed  = "feed"     // feed-64-100ms-json and eleven others: events of a server's clock
	familyHTTP2 = "http2"    // h2, h2-m32, h2-upload, h2-download, h2-stream: HTTP/2 over TLS
)

// standard lists the workloads of each family's group.
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
	familyHTTPS: httpsNames,
	familyHTTP2: http2Names,
	familyPush:  pushNames,
	familyFeed:  feedNames,
}

// families lists the families in the order of the reports.
var families = []string{familyAt, familyRedis, familyPg, familyWait, familyFan, familyMixed, familySizes, familyHTTPS, familyHTTP2, familyPush, familyFeed}

// groupEnd is the suffix that makes a family's name that of its group.
const groupEnd = "-all"

// everything is the name of the group of all workloads.
const everything = "all"

// Expand replaces the names of groups with those of their workloads. The groups are all,
// at-all, redis-all, postgres-all, wait-all, fanout-all, mixed-all, sizes-all, https-all, http2-all,
// push-all and feed-all.
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

// known returns the valid names of workloads, and the patterns of names.
func known() []string {
	names := slices.Clone(Workloads())
	for _, f := range families {
		names = append(names, standard[f]...)
	}
	return append(names, "at1 to at99", "redis-RATE", "postgres-RATE", "wait-TIME-RATE", "fanout-RATE")
}

// findWorkload returns the workload with that name, nil if there is none.
func findWorkload(name string) *workload {
	all := workloads()
	if i := slices.IndexFunc(all, func(w workload) bool { return w.name == name }); i >= 0 {
		return &all[i]
	}
	for _, find := range []func(string) *workload{findAt, findRedis, findPostgresRow, findWait, findFanout, findMixed, findSize, findSecure, findPush, findFeed} {
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

// findAt returns the workload at a share of limit's closed-loop rate, which is the same
// for all subjects; nil for other names.
func findAt(name string) *workload {
	m := atName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	percent := number(m[1])
	w := plaintext()
	w.title = fmt.Sprintf("Poisson arrivals at %.0f %% of the maximum rate of %s", percent, floorName)
	w.family, w.ceiling, w.floor = familyAt, percent/100, true
	return &w
}

// findRedis returns the workload with one GET from Redis per request; nil for other names.
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

// findPostgresRow returns the workload with one row from PostgreSQL per request; nil for
// other names.
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

// findWait returns the workload with one query per request to a backend with a fixed
// delay; nil for other names.
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

// fanWait is the duration of each call of a fan-out.
const fanWait = time.Millisecond

// findFanout returns the workload with three concurrent calls per request, whose
// responses are joined; nil for other names.
func findFanout(name string) *workload {
	m := fanName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	w := plaintext()
	w.title = fmt.Sprintf("Three concurrent HTTP calls of %v each, joined", fanWait)
	w.path = fmt.Sprintf("/fanout?wait=%v", fanWait)
	w.family, w.backend, w.floor = familyFan, backendFanout, false
	return w.at(m[1])
}

// at makes w an open loop with a rate, or a closed loop if rate is empty.
func (w *workload) at(rate string) *workload {
	if rate != "" {
		w.rate = number(rate)
		w.title += fmt.Sprintf(", %s per second", rate)
	} else {
		w.title += ", closed loop"
	}
	return w
}

// mixes lists the slow requests of the mixed workloads: the CPU time of one, and how many
// are sent per second beside quickRate quick ones. Together they take a sixth to a third
// of a core.
var mixes = []struct {
	cpu  time.Duration
	rate float64
}{{300 * time.Microsecond, 600}, {900 * time.Microsecond, 300}, {5 * time.Millisecond, 60}}

const quickRate = 2000 // per second

// findMixed returns the workload of quick and slow requests, whose latencies are those of
// the quick ones; nil for other names.
func findMixed(name string) *workload {
	for _, m := range mixes {
		if name != familyMixed+"-"+m.cpu.String() && name != familyMixed+"-"+strings.Replace(m.cpu.String(), "µ", "u", 1) {
			continue
		}
		w := plaintext()
		w.title = fmt.Sprintf("%d quick requests per second, and %.0f that take %v of CPU each: latencies of the quick ones", quickRate, m.rate, m.cpu)
		w.family, w.rate, w.floor = familyMixed, quickRate+m.rate, false
		w.beside = &beside{cpu: m.cpu, rate: m.rate}
		return &w
	}
	return nil
}

// number returns the value of digits.
func number(digits string) float64 {
	n, _ := strconv.ParseFloat(digits, 64) // the pattern matches only digits
	return n
}
