package rules

import (
	"fmt"
	"strings"
)

// kindsOfWork are what runtimes of other languages do, by the functions of their runtimes: the code of
// the server itself has no names there, but what it calls has.
var kindsOfWork = []struct {
	name, advice string
	match        match
}{
	{
		"regular expressions", "Bound the expression: no repetition within a repetition, such as (a+)+, and bounds such as {1,64}; or check the length of the input first. RE2 (the package re2 of Node.js, google-re2 of Python) never tries twice.",
		called("Builtins_RegExp*", "v8::internal::RegExp*", "v8::internal::Irregexp*", "v8::internal::Runtime_RegExp*", "sre_*", "_sre_*", "pattern_*"),
	},
	{
		"garbage collection", "Allocate less for each request, and keep fewer objects alive; give the young generation more room (node --max-semi-space-size=64; gc.freeze() and gc.set_threshold() in Python).",
		called("v8::internal::Heap::*", "v8::internal::Scaveng*", "v8::internal::MarkCompact*", "v8::internal::Marking*", "v8::internal::MainMarking*", "v8::internal::ConcurrentMarking*", "v8::internal::YoungGeneration*", "v8::internal::Sweeper*", "v8::internal::Evacuat*", "v8::internal::MinorMarkSweep*",
			"gc_collect*", "subtract_refs*", "deduce_unreachable*", "move_unreachable*", "visit_reachable*", "visit_decref*"),
	},
	{"JSON", "Encode answers that are the same for many requests once; send fewer fields.", called("Builtins_Json*", "v8::internal::Json*", "JsonParse*", "JsonStringif*", "scan_once_unicode*", "scanner_call*", "_parse_*_unicode*", "encoder_*", "py_encode_basestring*")},
	{"SQLite", "Commit many changes at once; see disk-sync.", called("sqlite3*", "pysqlite_*", "_pysqlite_*")},
	{"compression", "Compress at a lower level, or what does not change once.", called("deflate*", "inflate*", "Zlib*", "BrotliEncoder*", "zlib_*")},
	{"sorting", "Keep what is asked for often sorted.", called("Builtins_ArrayTimSort*", "Builtins_ArrayPrototypeSort*", "list_sort*", "list_sort_impl*")},
	{"compiling code", "Let the process run for longer, and make no functions at run time (new Function, eval, templates).", called("v8::internal::Compiler::*", "v8::internal::compiler::*", "v8::internal::maglev::*", "v8::internal::parsing::*", "v8::internal::Parser*", "_PyAST_Compile*", "Py_CompileString*")},
}

const (
	leastKind = 0.30 // CPU share of a kind of work from which it is what saturates the CPU
	wordKind  = 0.05 // from which it has a word
	// leastNameless is the CPU share of code without names, of an interpreter's compiler, from which
	// it is a finding.
	leastNameless = 0.6
	// longTurn is the mean time of a turn of an event loop, in seconds, that others notice.
	longTurn = 0.010
)

// turn returns how long a turn of the event loop computes on average, in seconds; 0: unknown.
func (v *view) turn() float64 {
	if v.Server.Language != "node" || v.load.Kernel == nil {
		return 0
	}
	waits := 0.0
	for _, n := range []string{"epoll_wait", "epoll_pwait", "epoll_pwait2"} {
		waits += known(v.load.Kernel.Calls[n].Rate)
	}
	return ratio(known(v.load.Cores), waits)
}

// interpreted returns what saturates a server whose own code has no names: a kind of work of its
// runtime, or code that was compiled at run time. unnamed is the CPU share of the latter.
func (v *view) interpreted(unnamed float64) *finding {
	if !v.Server.OneThread() {
		return nil
	}
	best, most := -1, 0.0
	var words []string
	for i, k := range kindsOfWork {
		share := v.cpu(k.match)
		if share >= wordKind {
			words = append(words, fmt.Sprintf("%s %s", k.name, percent(share)))
		}
		if share > most {
			best, most = i, share
		}
	}
	f := &finding{}
	switch {
	case most >= leastKind:
		k := kindsOfWork[best]
		f.cpu = v.load.OnCPU.With(k.match)
		f.Title = fmt.Sprintf("The CPU is saturated, %s of it by %s", percent(most), k.name)
		f.Gain, f.Confidence = v.saving(improved(max(most, leastHot))), v.sureOfCPU(0.8)
		f.Advice, f.Sites = []string{k.advice}, places(f.cpu, everything)
	case unnamed >= leastNameless:
		f.Title = fmt.Sprintf("The CPU is saturated, %s of it by compiled code without names", percent(unnamed))
		f.Gain, f.Confidence = v.saving(improved(unnamed)), v.sureOfCPU(0.5)
	default:
		return nil
	}
	f.Evidence = []string{"The server uses " + v.using() + ": a process computes on one at a time."}
	if len(words) > 0 {
		f.Evidence = append(f.Evidence, "Parts of its runtime, of the CPU time: "+strings.Join(words, ", ")+".")
	}
	if t := v.turn(); t >= longTurn {
		f.Evidence = append(f.Evidence, fmt.Sprintf("A turn of the event loop computes for %s on average: all other requests and timers wait meanwhile.", duration(t)))
	}
	f.Advice = append(
		f.Advice,
		"Start it so that its own code has names, and diagnose again: node --perf-basic-prof, python -X perf (3.12 and newer).",
		"Move long calculations to worker threads or other processes: everything else waits for them.",
	)
	return f
}
