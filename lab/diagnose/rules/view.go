package rules

import (
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

type (
	stack  = diagnose.Stack
	stacks = diagnose.Stacks
	match  = diagnose.Match
)

var (
	called = diagnose.Called
	in     = diagnose.In
	anyOf  = diagnose.Any
)

// A view is the evidence with what several rules need.
type view struct {
	*diagnose.Evidence
	load  *diagnose.Load // the highest load; empty if there was none
	cores float64        // that the server can use
	busy  float64        // share of cores that it used; 0: unknown

	requests  *stacks // goroutines that work for a request, beneath a handler
	helpers   *stacks // other goroutines that do something: requests wait for them
	inflight  float64 // requests in the server, on average; 0: unknown
	runnable  float64 // share of inflight that waits for a CPU
	delegated float64 // share of inflight that waits for helpers

	gc, malloc float64 // shares of the CPU time: collection, and allocation without it
}

func newView(e *diagnose.Evidence) *view {
	if e == nil {
		e = &diagnose.Evidence{}
	}
	v := &view{Evidence: e, load: e.Knee()}
	if v.load == nil && len(e.Loads) > 0 {
		v.load = &e.Loads[len(e.Loads)-1]
	}
	if v.load == nil {
		v.load = &diagnose.Load{}
	}
	v.cores = e.Server.Cores()
	v.sortGoroutines()
	v.busy = bound(ratio(v.load.Cores, v.cores), 0, 1)
	if v.runnable >= crowded || total(v.load.Wall) == 0 {
		v.busy = max(v.busy, v.demand())
	}
	v.costs()
	return v
}

const (
	// crowded is the share of the requests in flight whose goroutines wait for a CPU from which
	// the CPU is short.
	crowded = 0.3
	// leastFree bounds the share of the CPUs that other processes leave to the server.
	leastFree = 0.2
)

// demand returns the share of the CPUs that the server would use if it were alone: with the time
// that its threads wait for each other, of the time that they do not wait for other processes; or, if
// requests do wait for a CPU, of what other processes leave. A thread waits for those that use the CPUs, in proportion.
func (v *view) demand() float64 {
	used, demand := known(v.load.Cores), 0.0
	if used > 0 && v.cores > 0 {
		waited := v.rate("sched_wait")
		others, _ := v.load.Taken()
		taken := bound(known(others), 0, 1) * v.cores
		lost := waited * ratio(taken, taken+used)
		if demand = 1; lost < v.cores {
			demand = ratio(used+waited-lost, v.cores-lost)
		}
	}
	if v.runnable >= crowded {
		demand = max(demand, ratio(used, v.cores*bound(1-known(v.load.Generator.Foreign), leastFree, 1)))
	}
	return bound(demand, 0, 1)
}

// known returns x, or 0 if it is no number.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// ratio returns a/b, or 0 if that is no number.
func ratio(a, b float64) float64 { return known(a / b) }

// handler matches the functions that call the handler of a request.
var handler = called(
	"net/http.serverHandler.ServeHTTP", "net/http.HandlerFunc.ServeHTTP", "net/http.(*http2serverConn).runHandler",
	"golang.org/x/net/http2.(*serverConn).runHandler", "golang.org/x/net/http2/h2c.*",
	"github.com/gofiber/fiber/v2.(*App).handler", "github.com/gofiber/fiber/v2.(*App).next", "github.com/gofiber/fiber/v3.(*App).requestHandler", "github.com/gofiber/fiber/v3.(*App).next*",
	"google.golang.org/grpc.(*Server).handleStream*", "google.golang.org/grpc.(*Server).processUnaryRPC", "google.golang.org/grpc.(*Server).processStreamingRPC",
	"github.com/cloudwego/hertz/pkg/route.(*Engine).ServeHTTP", "github.com/redline-go/redline.(*dispatcher).*",
)

// fastServer matches servers whose workers call the handler without a function of its own.
var fastServer = called("github.com/valyala/fasthttp.(*Server).serveConn*")

// serverIO matches reads from a client and writes to it.
var serverIO = anyOf(
	called(
		"net/http.(*connReader).*", "net/http.(*body).*", "net/http.checkConnErrorWriter.Write", "net/http.(*chunkWriter).*", "net/http.(*response).Flush*", "net/http.(*response).Write*", "net/http.(*response).write*",
		"net/http.(*http2serverConn).serve", "net/http.(*http2serverConn).readFrames", "net/http.(*http2responseWriter*", "net/http.(*http2requestBody).*",
		"golang.org/x/net/http2.(*serverConn).*", "golang.org/x/net/http2.(*responseWriter*", "golang.org/x/net/http2.(*requestBody).*",
		"github.com/valyala/fasthttp.(*RequestHeader).*", "github.com/valyala/fasthttp.(*Request).*", "github.com/valyala/fasthttp.writeResponse",
		"github.com/valyala/fasthttp.acquireByteReader", "github.com/redline-go/redline/internal/*",
	),
)

// userCode matches what neither the standard library nor the runtime nor the kernel is.
var userCode = diagnose.Of(diagnose.User, diagnose.Library)

// sortGoroutines finds the goroutines that work for requests, and those that help them.
func (v *view) sortGoroutines() {
	wall := v.load.Wall
	v.requests = wall.Filter(isRequest)
	rest := map[string]bool{}
	if v.Rest != nil && v.Rest.Wall != nil {
		for i := range v.Rest.Wall.List {
			rest[identity(&v.Rest.Wall.List[i])] = true
		}
	}
	v.helpers = wall.Filter(func(s *stack) bool {
		return !isRequest(s) && s.Has(userCode) && !s.Has(serving) && !idle(s) && !rest[identity(s)]
	})
	// Requests that have not reached their handler, or left it, are in the server too.
	active := wall.Filter(isActive)
	v.inflight = max(known(active.Total), 0)
	v.runnable = ratio(active.Filter(func(s *stack) bool { return s.State == "runnable" }).Total, v.inflight)
	v.delegated = ratio(v.requests.Filter(isDelegated).Total, v.inflight)
}

// isActive reports whether a goroutine has a request, or is about to read one. The stack of one
// that runs has only its first function.
func isActive(s *stack) bool {
	if s.Has(acceptor) || waitsFor(s, "IO wait") && !s.Has(handler) {
		return false
	}
	return isRequest(s) || s.Has(connection)
}

var (
	acceptor   = called("net/http.(*onceCloseListener).Accept", "net.(*TCPListener).Accept", "net/http.(*connReader).startBackgroundRead*")
	connection = anyOf(fastServer, called("net/http.(*conn).serve", "net/http.(*Server).Serve.gowrap*", "net/http.(*Server).Serve.func*"))
)

// serving matches a server's own goroutines.
var serving = anyOf(fastServer, called("net/http.(*conn).serve", "net/http.(*Server).Serve", "main.main", "runtime.main", "main.init*"))

func isRequest(s *stack) bool {
	if s.Has(handler) {
		return true
	}
	return s.Has(fastServer) && s.Has(diagnose.Of(diagnose.User)) && !s.Has(serverIO)
}

// idle reports whether a goroutine waits in its first function: a worker without work, a ticker.
func idle(s *stack) bool {
	if s.State != "waiting" && s.State != "" || reason(s) == "IO wait" {
		return false
	}
	n := 0
	for _, f := range s.Frames {
		if userCode(f) {
			n++
		}
	}
	return n <= 1
}

// identity returns what tells the stacks of goroutines apart.
func identity(s *stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		b.WriteString(f.Func)
		b.WriteByte(0)
	}
	return b.String() + s.Wait
}

// isDelegated reports whether a goroutine waits for another one in code that is not a client's
// or a pool's.
func isDelegated(s *stack) bool {
	return waitsFor(s, "sync.WaitGroup.Wait", "chan receive", "select", "semacquire", "sync.Cond.Wait") &&
		(diagnose.Of(diagnose.User)(waiter(s)) || in("golang.org/x/sync/...")(waiter(s)))
}

// waitsFor reports whether a goroutine waits for one of the reasons.
func waitsFor(s *stack, reasons ...string) bool {
	switch s.State {
	case "", "waiting":
		return slices.Contains(reasons, reason(s))
	}
	return false
}

// reasons are why goroutines wait, by the functions of the runtime and of package sync.
var reasons = []struct {
	function match
	reason   string
}{
	{called("sync.(*Mutex).*", "internal/sync.(*Mutex).*"), "sync.Mutex.Lock"},
	{called("sync.(*RWMutex).RLock"), "sync.RWMutex.RLock"},
	{called("sync.(*RWMutex).Lock"), "sync.RWMutex.Lock"},
	{called("sync.(*WaitGroup).Wait"), "sync.WaitGroup.Wait"},
	{called("sync.(*Cond).Wait"), "sync.Cond.Wait"},
	{called("runtime.chanrecv*"), "chan receive"},
	{called("runtime.chansend*"), "chan send"},
	{called("runtime.selectgo", "runtime.block"), "select"},
	{called("runtime.netpollblock"), "IO wait"},
	{called("time.Sleep"), "sleep"},
	{called("runtime.semacquire*"), "semacquire"},
}

// reason returns why a goroutine waits. Profiles of goroutines over HTTP do not name the reason:
// the innermost functions show it.
func reason(s *stack) string {
	if s.Wait != "" {
		return strings.TrimSuffix(s.Wait, " (durable)")
	}
	inner := s.Frames[:min(len(s.Frames), 8)]
	for _, r := range reasons {
		if slices.ContainsFunc(inner, r.function) {
			return r.reason
		}
	}
	return ""
}

// waiter returns the innermost frame that is neither the runtime's nor one of the packages that
// every wait goes through.
func waiter(s *stack) diagnose.Frame {
	for _, f := range s.Frames {
		if f.Kind != diagnose.Runtime && f.Kind != diagnose.System && !in("runtime/...", "internal/runtime/...", "sync", "internal/sync", "internal/poll", "internal/synctest", "time")(f) {
			return f
		}
	}
	return diagnose.Frame{}
}

// waiting returns the share of the time of requests for which they, or the goroutines that they
// wait for, are in stacks that keep selects; and these stacks.
func (v *view) waiting(keep func(*stack) bool) (share float64, found *stacks) {
	found = v.requests.Filter(keep)
	share = ratio(found.Total, v.inflight)
	if help := v.helpers.Filter(keep); v.delegated > 0 && help.Total > 0 {
		share += v.delegated * ratio(help.Total, v.helpers.Total)
		found = &stacks{Total: found.Total + help.Total, List: append(slices.Clone(found.List), help.List...)}
	}
	return bound(known(share), 0, 1), found
}

// cpu returns the share of the CPU time under matching frames.
func (v *view) cpu(m match) float64 { return bound(known(v.load.OnCPU.Share(m)), 0, 1) }

var (
	collecting = called("runtime.gcBgMarkWorker*", "runtime.gcAssistAlloc*", "runtime.gcDrain*", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart*",
		"runtime.gcMark*", "runtime.(*mspan).sweep", "runtime.(*sweepLocked).sweep", "runtime.deductSweepCredit", "runtime.sweepone", "runtime.wbBufFlush*", "runtime.gcWriteBarrier*", "runtime.markroot*", "runtime.scanobject", "runtime.greyobject")
	// Without other work, the runtime collects on idle CPUs: that costs nothing.
	collectingIdly = called("runtime.gcDrainMarkWorkerIdle")
	allocating     = called("runtime.mallocgc*", "runtime.newobject", "runtime.makeslice*", "runtime.growslice", "runtime.makechan*", "runtime.makemap*", "runtime.newarray", "runtime.rawbyteslice", "runtime.rawstring*", "internal/runtime/maps.New*", "internal/runtime/maps.new*", "internal/runtime/maps.(*Map).grow*", "internal/runtime/maps.(*table).grow*", "internal/runtime/maps.(*table).split*", "internal/runtime/maps.(*table).rehash*", "runtime.mallocTiny*", "runtime.mallocScan*", "runtime.mallocNoScan*")
)

// costs sets the shares of memory management.
func (v *view) costs() {
	on := v.load.OnCPU
	if on != nil && on.Total > 0 {
		v.gc = v.cpu(collecting) - ratio(on.With(collectingIdly).Total, on.Total)
		v.malloc = bound(ratio(on.With(allocating).Without(collecting).Total, on.Total), 0, 1)
		v.gc = bound(v.gc, 0, 1)
		return
	}
	if gc, ok := v.load.Rated("gc_cpu"); ok {
		v.gc = bound(ratio(gc, v.load.Cores), 0, 1)
	}
}

// cost returns the share of the CPU time that code costs: its own, and that of collecting what
// it allocates.
func (v *view) cost(m match) float64 {
	return bound(v.cpu(m)+v.gc*v.allocated(m), 0, 1)
}

// allocated returns the share of the allocated bytes under matching frames. Without a profile
// of allocations it is the share of the CPU time of allocation.
func (v *view) allocated(m match) float64 {
	if a := v.load.Allocs; a != nil && a.Total > 0 {
		return bound(known(a.Share(m)), 0, 1)
	}
	return bound(known(v.load.OnCPU.With(allocating).Share(m)), 0, 1)
}

// bytes returns how many bytes an answer allocates; 0: unknown.
func (v *view) bytes() float64 {
	if rate, ok := v.load.Rated("allocated"); ok {
		return known(v.load.Each(rate))
	}
	if a := v.load.Allocs; a != nil {
		return ratio(a.Total, v.load.Answers())
	}
	return 0
}

// calls returns how often an answer makes system calls, with bytes a call; 0: unknown.
func (v *view) calls(names ...string) (each, bytes float64) {
	if v.load.Kernel == nil {
		return 0, 0
	}
	rate, sum := 0.0, 0.0
	for _, n := range names {
		c := v.load.Kernel.Calls[n]
		rate, sum = rate+known(c.Rate), sum+known(c.Rate)*known(c.Bytes)
	}
	return known(v.load.Each(rate)), ratio(sum, rate)
}

// figure returns the median of a figure of the watch; 0: unknown.
func (v *view) figure(name string) float64 {
	x, _ := v.load.Figure(name)
	return known(x)
}

// rate returns the mean rate of a counter of the watch; 0: unknown.
func (v *view) rate(name string) float64 {
	x, _ := v.load.Rated(name)
	return known(x)
}

// most returns the highest value of a figure under any load; 0: unknown.
func (v *view) most(figure string) float64 {
	x := 0.0
	for i := range v.Loads {
		x = max(x, known(v.Loads[i].Watch.Figures[figure].Max))
	}
	return x
}

// mean returns the mean latency, in seconds; 0: unknown.
func (v *view) mean() float64 { return known(v.load.Latency.Mean) }

// mostSites bounds how many places a cause names.
const mostSites = 5

// places returns the places in the code that lead to matching frames.
func places(s *stacks, m match) []diagnose.Place {
	sites := slices.DeleteFunc(s.Sites(m), func(x diagnose.Site) bool { return !userCode(x.Frame) || x.Frame.Func == "" })
	total := 0.0
	for _, x := range sites {
		total += x.Weight
	}
	var list []diagnose.Place
	for _, x := range sites[:min(len(sites), mostSites)] {
		list = append(list, diagnose.Place{Func: x.Frame.Func, File: x.Frame.File, Line: x.Frame.Line, Share: bound(ratio(x.Weight, total), 0, 1)})
	}
	return list
}

// everything matches each frame.
func everything(diagnose.Frame) bool { return true }
