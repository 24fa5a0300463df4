package rules

import (
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/diagnose"
)

var leakRules = []rule{
	{
		id: "goroutine-leak", level: broad, find: goroutineLeak,
		meaning:  "goroutines are left after the requests that started them",
		needs:    "goroutines at rest, before the load and after it",
		estimate: "fatal: memory runs out sooner or later",
	},
	{
		id: "descriptor-leak", level: specific, find: descriptorLeak,
		meaning:  "descriptors are not closed",
		needs:    "descriptors at rest, before the load and after it",
		estimate: "fatal: the limit is reached sooner or later",
	},
	{
		id: "timer-leak", level: specific, find: timerLeak,
		meaning:  "timers or tickers are not stopped: they stay in the heap and go off",
		needs:    "heap and CPU time at rest, before the load and after it; CPU stacks or allocations",
		estimate: "fatal: memory grows, and with it the CPU time of the timers",
	},
	{
		id: "memory-leak", level: general, find: memoryLeak,
		meaning:  "memory stays in use after the requests",
		needs:    "memory at rest, before the load, after it and after a second one; of Go after two collections",
		estimate: "fatal: memory runs out sooner or later",
	},
}

const (
	leastSamples = 5  // of a figure
	leastLeft    = 50 // goroutines or descriptors, below which servers keep some for later
	// keptOpen is how many goroutines or descriptors a server may keep for each connection of the
	// load: pools of connections to other servers, with two goroutines each.
	keptOpen = 3
	// mostKept is how many of them it may keep if their number no longer grows.
	mostKept = 16
	// leastEach is the number that an answer leaves, below which it is a matter of startup.
	leastEach = 0.0005
)

// left returns how much of a figure is left at rest beyond what was there before, and how much
// that is for an answer.
func (v *view) left(figure string) (more, each float64, ok bool) {
	if v.Rest == nil {
		return 0, 0, false
	}
	before, has := v.Rest.Before[figure]
	later, also := v.Rest.Later[figure]
	if !has || !also {
		return 0, 0, false
	}
	more = known(later - before)
	return more, ratio(more, v.Rest.Answers), true
}

// connections returns the most connections that a load had.
func (v *view) connections() float64 {
	n := 0
	for i := range v.Loads {
		n = max(n, v.Loads[i].Connections)
	}
	for _, p := range v.Sweep {
		n = max(n, p.Connections)
	}
	return float64(n)
}

// leaks reports whether what is left is more than a server keeps for later.
func (v *view) leaks(figure string) (more, each float64, ok bool) {
	more, each, ok = v.left(figure)
	if !ok || each < leastEach || more < max(leastLeft, keptOpen*v.connections()) {
		return more, each, false
	}
	share, seen := v.grows(figure, each)
	return more, each, !seen || share >= settled || more > mostKept*v.connections()
}

const (
	steady   = 0.5 // share of the expected growth under the knee from which a leak is certain
	settled  = 0.2 // share below which what is left is kept, and does not grow
	sureEach = 0.002
)

// grows returns how much a figure grew under the highest load, as a share of what a leak of so
// many for each answer would add; false: unknown.
func (v *view) grows(figure string, each float64) (share float64, ok bool) {
	var seen []float64
	for i := range v.load.Samples {
		if x, ok := v.load.Samples[i].Values[figure]; ok {
			seen = append(seen, known(x))
		}
	}
	expected := each * known(v.load.Rate) * known(v.load.Seconds)
	if len(seen) < leastSamples || expected <= 0 {
		return 0, false
	}
	// From the middle of the first third to that of the last one are two thirds of the window.
	third := len(seen) / 3
	growth := (median(seen[len(seen)-third:]) - median(seen[:third])) * 3 / 2
	return ratio(growth, expected), true
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// sureOfLeak is the confidence in a leak of so many for each answer.
func (v *view) sureOfLeak(figure string, each float64) float64 {
	share, ok := v.grows(figure, each)
	switch {
	case ok && share >= steady:
		return 0.97
	case ok && share < settled:
		return 0.4
	case each >= sureEach:
		return 0.85
	}
	return 0.6
}

// transports matches the goroutines of a connection to an HTTP server.
var transports = called("net/http.(*persistConn).readLoop", "net/http.(*persistConn).writeLoop")

func goroutineLeak(v *view) *finding {
	more, each, ok := v.leaks("goroutines")
	if !ok {
		return nil
	}
	var rest *stacks
	if v.Rest.Wall != nil {
		rest = v.Rest.Wall.Filter(func(s *stack) bool { return s.State != "running" })
	}
	// Two for each connection that a pool keeps: those that are not closed are descriptors.
	if other := more - total(rest.With(transports)); rest != nil && other < max(leastLeft, keptOpen*v.connections()) {
		return nil
	}
	f := &finding{blames: map[string]float64{}}
	f.Title = fmt.Sprintf("%.0f goroutines are left after the load", more)
	f.Gain, f.Confidence = diagnose.Gain{Fatal: true}, v.sureOfLeak("goroutines", each)
	f.blames["memory-leak"], f.blames["timer-leak"] = 1, 0.9 // a goroutine that is left keeps its ticker
	f.Sites = places(rest.Without(serving).Without(transports), everything)
	f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f goroutines before the load, %.0f %s after it: %.2g for each answer.", v.Rest.Before["goroutines"], v.Rest.Later["goroutines"], duration(v.Rest.After.Seconds()), each))
	if len(f.Sites) > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s of those that are left wait in %s.", percent(f.Sites[0].Share), f.Sites[0].Func))
	}
	f.Advice = []string{
		"Let each goroutine end with its request: pass the request's context on, and select on its Done.",
		"Give channels room for a result that nobody waits for any more (make(chan T, 1)).",
	}
	return f
}

func descriptorLeak(v *view) *finding {
	more, each, ok := v.leaks("descriptors")
	waits, _, _ := v.left("tcp_close_wait")
	if !ok && waits < leastLeft {
		return nil
	}
	f := &finding{blames: map[string]float64{"goroutine-leak": 0.5, "memory-leak": 1, "descriptor-limit": 0.9}}
	f.Title = fmt.Sprintf("%.0f descriptors are left open after the load", max(more, waits))
	f.Gain, f.Confidence = diagnose.Gain{Fatal: true}, v.sureOfLeak("descriptors", max(each, ratio(waits, v.Rest.Answers)))
	if limit := known(v.Server.FileLimit); limit > 0 && v.most("descriptors") >= fullTable*limit {
		f.Confidence = 0.97 // they could not grow any more
	}
	f.Confidence = min(f.Confidence+0.02, 1) // before the goroutines that belong to them
	f.Evidence = []string{fmt.Sprintf("%.0f descriptors before the load, %.0f %s after it: %.2g for each answer.", v.Rest.Before["descriptors"], v.Rest.Later["descriptors"], duration(v.Rest.After.Seconds()), each)}
	for _, kind := range []string{"socket", "file", "pipe", "eventfd", "epoll", "other"} {
		if n, _, ok := v.left("descriptors_" + kind); ok && n >= leastLeft {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f of them are of the kind %s.", n, kind))
		}
	}
	if waits > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f connections are in CLOSE_WAIT: the other side has closed them.", waits))
	}
	f.Advice = []string{
		"Close what is opened on every path, with defer after the check of the error: files, response bodies, rows, connections.",
		"Limit how long idle connections stay open (IdleConnTimeout, ReadTimeout).",
	}
	f.Sites = places(v.Rest.Wall.With(transports), transports)
	return f
}

const (
	leastTimers = 0.05 // CPU share of timers, or share of the allocated bytes: a healthy server has half of it
	restTimers  = 0.02 // cores at rest beyond those before
)

func timerLeak(v *view) *finding {
	if v.Rest == nil {
		return nil
	}
	_, _, counted := v.left("go_timers")
	timersLeft, each, leaks := v.leaks("go_timers")
	memory := v.Rest.Memory()
	started := max(v.cpu(timing), v.load.Allocs.Share(timing))
	awake, _, _ := v.left("cpu_total")
	switch {
	case leaks:
	case !counted && started >= leastTimers && (awake >= restTimers || memory.Suspect()):
	default:
		return nil
	}
	f := &finding{blames: map[string]float64{"memory-leak": 1, "context-timers": 1}}
	f.Title = "Timers are left after the load"
	f.Gain, f.Confidence = diagnose.Gain{Fatal: true, CPU: v.cpu(timing)}, 0.75
	if counted {
		f.Confidence = 0.97
		f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f timers more than before the load: %.2g for each answer.", timersLeft, each))
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("Timers take %s of the CPU time under load, and %s of the allocated bytes.", percent(v.cpu(timing)), percent(v.load.Allocs.Share(timing))))
	if awake > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("At rest the server uses %.3g CPUs more than before.", awake))
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("%s of memory are left.", bytesOf(memory.Left)))
	f.Advice = []string{
		"Stop each ticker and timer with defer, and call each cancel function of a context.",
		"Use one ticker for all, instead of one for each request or session.",
	}
	if f.Sites = places(v.load.Allocs.With(timing), timing); len(f.Sites) == 0 {
		f.Sites = places(v.load.OnCPU.With(timing).With(userCode), timing)
	}
	return f
}

// repeats is the share of its growth that a leak has again under a second load; what is filled once
// has not.
const repeats = 0.5

func memoryLeak(v *view) *finding {
	if v.Rest == nil || v.Rest.Again == nil {
		return nil // one reading shows what is kept, and not what grows
	}
	m := v.Rest.Memory()
	again, answers := v.Rest.Again.Left[m.Figure], v.Rest.Again.Answers
	share := ratio(known(again), m.Each*answers)
	if !m.Suspect() || share < repeats {
		return nil
	}
	f := &finding{}
	f.Title = fmt.Sprintf("%s of memory are left after the load", bytesOf(m.Left))
	f.Gain, f.Confidence = diagnose.Gain{Fatal: true}, 0.9
	if m.Figure == diagnose.Resident {
		f.Confidence = 0.7 // allocators keep memory for later
	}
	f.Evidence = []string{
		fmt.Sprintf("%s before the load, %s %s after it (%s): %s for each answer.", bytesOf(v.Rest.Before[m.Figure]), bytesOf(v.Rest.Later[m.Figure]), duration(v.Rest.After.Seconds()), m.Figure, bytesOf(m.Each)),
		fmt.Sprintf("A second load of %.0f answers left another %s: %s of what the first one did for as many.", answers, bytesOf(again), percent(share)),
	}
	if m.Figure == diagnose.LiveHeap {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f collections had ended since the load, so it is no garbage; %s are counted for connections that are left.", v.Rest.Collections, bytesOf(m.Connections)))
	}
	f.Advice = []string{
		"Bound what grows with requests: maps, caches and slices of the whole process need a size or an age at which entries go.",
		"Compare two heap profiles, before and after: redline profile shows what holds the memory.",
		"Copy the part that is kept of a large string or slice (strings.Clone): the part holds the whole.",
	}
	f.Sites = places(v.load.Allocs, everything)
	return f
}
