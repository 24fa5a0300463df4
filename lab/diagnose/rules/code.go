package rules

import (
	"fmt"

	"github.com/redline-go/redline/lab/diagnose"
)

var codeRules = []rule{
	{
		id: "json-reflection", level: broad, find: jsonReflection,
		meaning:  "encoding or decoding by reflection takes much of the CPU",
		needs:    "CPU stacks",
		estimate: "70 % of its CPU share beyond 10 %: generated code is three times as fast and more",
	},
	{
		id: "regexp-compile", level: specific, find: regexpCompile,
		meaning:  "requests compile regular expressions",
		needs:    "CPU stacks",
		estimate: "CPU share of compiling, with its part of collection",
	},
	{
		id: "template-parse", level: specific, find: templateParse,
		meaning:  "requests parse templates",
		needs:    "CPU stacks",
		estimate: "CPU share of parsing and escaping, with its part of collection",
	},
	{
		id: "compression-level", level: specific, find: compressionLevel,
		meaning:  "answers are compressed at a high level: the search for matches dominates",
		needs:    "CPU stacks",
		estimate: "CPU share of the search beyond that of the rest of the compressor: at level 5 or 6 they are about equal; 60 % of the compressor's where the search has no name",
	},
	{
		id: "large-headers", level: specific, find: largeHeaders,
		meaning:  "reading and writing header fields takes much of the CPU",
		needs:    "CPU stacks",
		estimate: "CPU share of header fields beyond 12 %",
	},
	{
		id: "panics-recovered", level: specific, find: panicsRecovered,
		meaning:  "requests panic, and something recovers",
		needs:    "CPU stacks",
		estimate: "CPU share of panics and their stack traces",
	},
	{
		id: "context-timers", level: specific, find: contextTimers,
		meaning:  "requests start many timers: contexts with timeouts, time.After",
		needs:    "CPU stacks",
		estimate: "CPU share of timers and of contexts with deadlines beyond 6 %, with its part of collection",
	},
	{
		id: "goroutine-per-message", level: specific, find: goroutinePerMessage,
		meaning:  "each request starts many short goroutines",
		needs:    "CPU stacks",
		estimate: "CPU share of creating and ending goroutines beyond 5 %, and of scheduling beyond 20 %",
	},
	{
		id: "cpu-bound", level: general, find: cpuBound,
		meaning:  "the CPU is saturated by the server's own code, in few places",
		needs:    "CPU stacks, a saturated CPU",
		estimate: "8 % of the CPU share of the hottest function beyond 20 %, and 40 % beyond 70 %: a guess, what a better algorithm brings is unknown",
	},
}

// work describes a cause that is a kind of work on the CPU.
type work struct {
	match  match
	but    match   // other work that may be called from there, and is not counted; nil: none
	base   float64 // CPU share that is healthy
	least  float64 // CPU share from which it is a finding
	saved  float64 // share of the excess that can be saved
	title  string  // with the share
	does   string  // sentence, with the share
	advice []string
}

// find returns the cause if the work takes enough of the CPU time.
func (w work) find(v *view) *finding {
	on := v.load.OnCPU.Filter(w.counts)
	share := bound(ratio(on.Total, total(v.load.OnCPU)), 0, 1)
	if share < w.least {
		return nil
	}
	cost := bound(share+v.gc*v.allocated(w.match), 0, 1)
	f := &finding{cpu: on, claims: w.match}
	f.Title = fmt.Sprintf(w.title, percent(share))
	f.Gain, f.Confidence = v.saving(v.beyond(cost, w.base)*w.saved), v.sureOfCPU(0.9)
	f.Evidence = []string{fmt.Sprintf(w.does, percent(share))}
	if more := cost - share; more > 0.01 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("It allocates %s of the bytes; its part of garbage collection is another %s.", percent(v.allocated(w.match)), percent(more)))
	}
	f.Advice, f.Sites = w.advice, places(f.cpu, w.match)
	return f
}

// counts reports whether a stack is of the work itself.
func (w work) counts(s *stack) bool {
	for _, f := range s.Frames {
		switch {
		case w.match(f):
			return true
		case w.but != nil && w.but(f):
			return false
		}
	}
	return false
}

func regexpCompile(v *view) *finding {
	return work{
		match: called("regexp.Compile", "regexp.MustCompile", "regexp.compile", "regexp.CompilePOSIX", "regexp.MustCompilePOSIX", "regexp.MatchString", "regexp/syntax.Parse", "regexp/syntax.Compile", "regexp.compileOnePass",
			"github.com/dlclark/regexp2.Compile", "github.com/dlclark/regexp2.MustCompile", "pcre2_compile_*", "pcre_compile*"),
		least: 0.03, saved: 0.95,
		title:  "Compiling regular expressions takes %s of the CPU time",
		does:   "Requests compile regular expressions for %s of the CPU time.",
		advice: []string{"Compile each expression once, in a package variable; keep those that depend on input in a bounded cache.", "Replace simple expressions by functions of strings."},
	}.find(v)
}

func templateParse(v *view) *finding {
	return work{
		match: called("text/template.(*Template).Parse*", "text/template.Parse*", "text/template.parseFiles", "text/template.parseGlob", "text/template/parse.*", "html/template.(*Template).Parse*", "html/template.Parse*", "html/template.parseFiles", "html/template.parseGlob",
			"html/template.(*escaper).*", "html/template.escapeTemplate", "html/template.(*Template).escape", "html/template.(*Template).Clone", "github.com/flosch/pongo2/*.From*", "github.com/CloudyKit/jet/*.parse*"),
		least: 0.03, saved: 0.95,
		title:  "Parsing templates takes %s of the CPU time",
		does:   "Requests parse and escape templates for %s of the CPU time.",
		advice: []string{"Parse templates once at start, with template.Must in a package variable, and only execute them in requests."},
	}.find(v)
}

// The compressors, and in them the search for matches that higher levels prolong.
var (
	compressing = anyOf(
		called("compress/flate.(*compressor).deflate", "github.com/klauspost/compress/flate.(*compressor).deflate*", "deflate", "deflate_slow", "deflate_fast", "deflate_medium", "deflate_stored"),
		in("github.com/andybalholm/brotli"), called("github.com/klauspost/compress/zstd.(*Encoder).*", "github.com/klauspost/compress/zstd.(*blockEnc).*", "github.com/klauspost/compress/s2.Encode*", "BrotliEncoder*", "BrotliCompress*", "ZSTD_compressBlock*"),
	)
	searching = called("compress/flate.(*compressor).findMatch", "github.com/klauspost/compress/flate.(*compressor).findMatch", "longest_match*", "deflate_slow.longest_match*",
		"github.com/klauspost/compress/zstd.(*bestFastEncoder).*", "github.com/klauspost/compress/zstd.(*betterFastEncoder*", "github.com/klauspost/compress/s2.encodeBlockBest*", "github.com/klauspost/compress/s2.encodeBlockBetter*",
		"github.com/andybalholm/brotli.(*h10).*", "github.com/andybalholm/brotli.createZopfliBackwardReferences", "github.com/andybalholm/brotli.zopfli*", "BrotliCreateZopfliBackwardReferences", "BrotliCreateHqZopfliBackwardReferences", "ZSTD_compressBlock_btopt*", "ZSTD_compressBlock_btultra*")
)

var goCompressors = in("compress/flate", "github.com/klauspost/compress/...", "github.com/andybalholm/brotli")

// leastCompression is the CPU share of a compressor from which its level counts.
const leastCompression = 0.15

// muchCompression is the share of the CPU time from which compression is dear at any level.
const muchCompression = 0.5

func compressionLevel(v *view) *finding {
	all := v.cpu(anyOf(compressing, searching))
	search := v.cpu(searching)
	excess := search - (all - search)
	nameless := search == 0 && all >= muchCompression && v.cpu(goCompressors) == 0 // a stripped library has no names for its parts
	if nameless {
		excess = all * 0.6
	}
	if all < leastCompression || excess <= 0 {
		return nil
	}
	f := &finding{claims: anyOf(compressing, searching)}
	f.cpu = v.load.OnCPU.With(f.claims)
	f.Title = fmt.Sprintf("Compression takes %s of the CPU time, at a high level", percent(all))
	f.Gain, f.Confidence = v.saving(excess), v.sureOfCPU(0.85)
	f.Evidence = []string{fmt.Sprintf("The search for matches takes %s of the CPU time, the rest of the compressor %s: at the default level they are about equal.", percent(search), percent(all-search))}
	if nameless {
		f.Confidence = min(f.Confidence, v.sureOfCPU(0.6))
		f.Evidence = []string{fmt.Sprintf("The compressor takes %s of the CPU time; which part of it does is unknown, because its library has no symbols.", percent(all))}
	}
	f.Advice = []string{
		"Compress at level 1 (gzip.BestSpeed) to 5: the highest levels save a few percent of the bytes for several times the CPU.",
		"Compress what does not change once, ahead of time, and cache it; do not compress small answers or images.",
	}
	f.Sites = places(f.cpu, f.claims)
	return f
}

// leastHeaders is the size of a request and its answer, in bytes, from which their fields may be
// large. Any request has a few.
const leastHeaders = 1 << 10

func largeHeaders(v *view) *finding {
	if n := known(v.load.Request) + known(v.load.Answer); n > 0 && n < leastHeaders {
		return nil
	}
	f := work{
		match: called("net/textproto.(*Reader).ReadMIMEHeader", "net/textproto.readMIMEHeader", "net/textproto.(*Reader).readContinuedLineSlice", "net/textproto.canonicalMIMEHeaderKey", "net/textproto.CanonicalMIMEHeaderKey", "net/http.readCookies", "net/http.(*Request).Cookie*", "net/http.Header.*",
			"net/http.(*http2Framer).readMetaFrame", "golang.org/x/net/http/httpguts.*", "vendor/golang.org/x/net/http/httpguts.*", "golang.org/x/net/http2/hpack.*", "vendor/golang.org/x/net/http2/hpack.*", "net/http.http2encodeHeaders", "net/http.SetCookie", "net/http.(*Cookie).*",
			"github.com/valyala/fasthttp.(*RequestHeader).parse*", "github.com/valyala/fasthttp.(*headerScanner).next", "github.com/valyala/fasthttp.(*ResponseHeader).AppendBytes"),
		base: 0.12, least: 0.18, saved: 0.9,
		title:  "Header fields take %s of the CPU time",
		does:   "Reading, checking and writing header fields takes %s of the CPU time (healthy: up to 12 %%).",
		advice: []string{"Send fewer and smaller fields: keep state in one short cookie, and drop what nobody reads.", "Look fields up once a request, and do not copy whole headers.", "Use HTTP/2: it sends repeated fields as an index."},
	}.find(v)
	if f != nil {
		f.Evidence = append(f.Evidence, fmt.Sprintf("A request has %s, an answer %s.", bytesOf(v.load.Request), bytesOf(v.load.Answer)))
		if v.load.Request+v.load.Answer < 2<<10 {
			f.Confidence *= rough
		}
	}
	return f
}

func panicsRecovered(v *view) *finding {
	return work{
		match: called("runtime.gopanic", "runtime.recovery*", "runtime/debug.Stack", "runtime/debug.PrintStack", "runtime.Stack", "runtime.printpanics", "runtime.sigpanic"),
		least: 0.03, saved: 0.95,
		title:  "Panics take %s of the CPU time",
		does:   "Panicking, recovering and printing stacks takes %s of the CPU time.",
		advice: []string{"Find what panics in the server's log and return an error instead: a panic costs thousands of times as much.", "Let the recovering middleware print a stack once for each place, not for each request."},
	}.find(v)
}

var (
	timers = anyOf(
		called("runtime.(*timers).*", "runtime.(*timer).*", "runtime.newTimer", "runtime.stopTimer", "runtime.resetTimer", "runtime.adjusttimers", "runtime.runtimer", "runtime.runOneTimer", "runtime.siftupTimer", "runtime.siftdownTimer", "runtime.addtimer", "runtime.deltimer", "runtime.modtimer", "runtime.doaddtimer", "runtime.cleantimers", "runtime.dodeltimer*"),
		called("time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "time.newTimer", "time.stopTimer", "time.(*Timer).*", "time.goFunc"),
		called("context.WithTimeout*", "context.WithDeadline*", "context.(*timerCtx).*"),
	)
	// Servers set deadlines on connections, which are timers too.
	deadlines = called("internal/poll.runtime_pollSetDeadline", "internal/poll.setDeadlineImpl", "net.(*netFD).SetDeadline", "net.(*netFD).SetReadDeadline", "net.(*netFD).SetWriteDeadline")
	timing    = func(f diagnose.Frame) bool { return timers(f) && !deadlines(f) }
)

func contextTimers(v *view) *finding {
	return work{
		match: timing, base: 0.06, least: 0.10, saved: 0.9,
		title:  "Timers and contexts with timeouts take %s of the CPU time",
		does:   "Starting, stopping and sorting timers takes %s of the CPU time (healthy: up to 6 %%).",
		advice: []string{"Set one deadline for the whole request and pass its context on, instead of one for each step.", "In loops, reuse one time.Timer with Reset instead of time.After; call the cancel function as soon as the work is done."},
	}.find(v)
}

var (
	spawning     = called("runtime.newproc", "runtime.newproc1", "runtime.newproc.func1", "runtime.goexit0", "runtime.goexit1", "runtime.gdestroy", "runtime.gfget", "runtime.gfput", "runtime.malg", "runtime.newstack", "runtime.copystack", "runtime.morestack", "runtime.stackalloc*", "runtime.stackfree", "runtime.shrinkstack")
	readingAhead = called("net/http.(*connReader).startBackgroundRead")
	scheduling   = called("runtime.schedule", "runtime.findRunnable", "runtime.park_m", "runtime.goready", "runtime.ready", "runtime.wakep", "runtime.startm", "runtime.stopm", "runtime.gopark", "runtime.mcall", "runtime.goschedImpl")
)

const (
	healthySpawning   = 0.05 // CPU share of creating goroutines, for those that wait for something
	leastSpawning     = 0.08 // from which they are a finding
	healthyScheduling = 0.20 // CPU share of the scheduler in a server with little work per request
)

// spawnsItself reports whether a server starts a goroutine of its own: for each connection, and for
// each request that it reads ahead for.
func spawnsItself(s *stack) bool {
	return s.Has(readingAhead) || s.Has(connection) && !isRequest(s)
}

func goroutinePerMessage(v *view) *finding {
	on := v.load.OnCPU.With(spawning).Without(collecting).Filter(func(s *stack) bool { return !spawnsItself(s) })
	share := ratio(on.Total, total(v.load.OnCPU))
	if share < leastSpawning {
		return nil
	}
	schedule := v.cpu(scheduling)
	f := &finding{claims: spawning, cpu: on}
	f.Title = fmt.Sprintf("Starting and ending goroutines takes %s of the CPU time", percent(share))
	f.Gain, f.Confidence = v.saving(v.beyond(share+max(schedule-healthyScheduling, 0), healthySpawning)), v.sureOfCPU(0.8)
	f.Evidence = []string{fmt.Sprintf("Creating goroutines, growing their stacks and ending them takes %s of the CPU time, scheduling %s.", percent(share), percent(schedule))}
	if v.helpers.Total > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Beside %.3g goroutines of requests, %.3g others are at work.", v.requests.Total, v.helpers.Total))
	}
	f.Advice = []string{
		"Do short work in the request's own goroutine: a goroutine pays when it waits, or works for a hundred microseconds or more.",
		"Give a few workers batches of items instead of starting one goroutine for each item.",
	}
	f.Sites = places(f.cpu.With(userCode), called("runtime.newproc"))
	if len(f.Sites) == 0 {
		f.Sites = places(v.helpers, everything)
	}
	return f
}

func total(s *stacks) float64 {
	if s == nil {
		return 0
	}
	return s.Total
}

// plumbing matches work that is not the server's own: the network, and what turns values into
// bytes, which costs what it costs.
var plumbing = anyOf(
	in("net/...", "syscall", "internal/poll", "internal/syscall/unix", "os/...", "crypto/tls", "database/sql/...", "encoding/...", "log/...", "fmt", "reflect", "io/...", "bufio", "compress/...", "archive/...", "text/template/...", "html/template/...", "mime/...", "context", "time"),
	diagnose.Of(diagnose.System), collecting, scheduling, lockWork,
)

const (
	hot          = 0.20 // CPU share of one function that is not worth a word
	leastHot     = 0.30 // CPU share of the hottest function from which it is a finding
	tuned        = 0.08 // share of a function that careful tuning saves: many services simply compute
	concentrated = 0.70 // CPU share of one function from which it is likely that there is a better way
	better       = 0.4  // share of the excess that it saves
)

// own returns the CPU stacks in which the server's own code computes: nothing between it and the
// innermost frame is plumbing.
func (v *view) own() *stacks {
	return v.load.OnCPU.Filter(func(s *stack) bool {
		for _, f := range s.Frames {
			switch {
			case userCode(f):
				return true
			case plumbing(f):
				return false
			}
		}
		return false
	})
}

// improved returns the CPU share that is saved by improving a function with a share.
func improved(share float64) float64 { return tuned*(share-hot) + better*max(share-concentrated, 0) }

func cpuBound(v *view) *finding {
	if v.busy < saturated {
		return nil
	}
	own := v.own()
	functions := map[string]float64{}
	name, share, unnamed := "", 0.0, 0.0
	for _, x := range own.Sites(everything) {
		if x.Frame.Func == "" {
			unnamed += x.Weight
			continue
		}
		functions[x.Frame.Func] += x.Weight
		if functions[x.Frame.Func] > functions[name] {
			name = x.Frame.Func
		}
	}
	if f := v.interpreted(ratio(unnamed, total(v.load.OnCPU))); f != nil {
		return f
	}
	if share = ratio(functions[name], total(v.load.OnCPU)); share < leastHot {
		return nil
	}
	f := &finding{cpu: own}
	f.Title = fmt.Sprintf("The CPU is saturated, %s of it by %s", percent(share), name)
	f.Gain, f.Confidence = v.saving(improved(share)), v.sureOfCPU(0.8)
	f.Evidence = []string{
		"The server uses " + v.using() + ".",
		fmt.Sprintf("Its own code takes %s of the CPU time, the hottest function %s with what it calls.", percent(ratio(own.Total, total(v.load.OnCPU))), percent(share)),
	}
	f.Advice = []string{
		"Look at the lines below, the hottest first: a better algorithm, less work per request, or a cache of results.",
		"If the work is what it has to be, add CPUs: the rate grows with them.",
	}
	f.Sites = places(own, everything)
	return f
}
