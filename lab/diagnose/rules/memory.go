package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

var memoryRules = []rule{
	{
		id: "gc-pressure", level: general, find: gcPressure,
		meaning:  "collection and allocation take more CPU than in a healthy server",
		needs:    "CPU stacks, or the figures gc_cpu and cpu_total; allocations name the code",
		estimate: "CPU share of collection beyond 12 %, and of allocation beyond 12 %",
	},
	{
		id: "unpooled-buffers", level: broad, find: unpooledBuffers,
		meaning:  "each request allocates large buffers, readers, writers or compressors",
		needs:    "allocations by stack",
		estimate: "their CPU share, with their part of collection and allocation",
	},
	{
		id: "body-copy", level: broad, find: bodyCopy,
		meaning:  "bodies are read whole, and copied or converted several times",
		needs:    "allocations by stack, sizes of requests and answers",
		estimate: "CPU share of the copies and of collecting them, without one copy",
	},
	{
		id: "gogc-thrash", level: broad, find: gogcThrash,
		meaning:  "the collector runs all the time: GOGC is small, or the live heap is near GOMEMLIMIT",
		needs:    "CPU share of collection; GOGC, GOMEMLIMIT or the figures heap_live_bytes and heap_goal_bytes",
		estimate: "CPU share of collection that would not be needed with GOGC=100: its cost is inverse to the room of the heap",
	},
	{
		id: "memory-limit", level: specific, find: memoryLimit,
		meaning:  "the control group is at its memory limit: the kernel reclaims memory, or kills",
		needs:    "figures of the control group",
		estimate: "share of the time in which tasks of the group wait for memory; fatal if the kernel kills",
	},
	{
		id: "swap", level: specific, find: swapping,
		meaning:  "memory is on disk: page faults wait for storage",
		needs:    "faults_major and memory pressure",
		estimate: "share of the time in which tasks wait for memory",
	},
}

const (
	healthyGC     = 0.12 // CPU share of collection in a healthy Go service
	healthyMalloc = 0.12 // CPU share of allocation in a healthy Go service
	// leastGC is the excess from which memory is worth a finding: less is within the variation of
	// services that are fine.
	leastGC = 0.06
)

func gcPressure(v *view) *finding {
	excess := v.beyond(max(v.gc, healthyGC)+max(v.malloc, healthyMalloc), healthyGC+healthyMalloc)
	if excess < leastGC {
		return nil
	}
	f := &finding{allocs: v.allocations()}
	f.Title = fmt.Sprintf("Garbage collection and allocation take %s of the CPU time", percent(v.gc+v.malloc))
	f.Gain, f.Confidence = v.saving(excess), v.sureOfCPU(0.85)
	f.Evidence = []string{fmt.Sprintf("Collection takes %s of the CPU time (healthy: up to %s), allocation %s (healthy: up to %s).", percent(v.gc), percent(healthyGC), percent(v.malloc), percent(healthyMalloc))}
	if b := v.bytes(); b > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("An answer allocates %s.", bytesOf(b)))
	}
	if n := v.rate("gc_cycles"); n > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The collector runs %s times a second, with %s live on the heap.", perSecond(n), bytesOf(v.figure("heap_live_bytes"))))
	}
	f.Advice = []string{
		"Allocate less per answer in the places below: reuse buffers, size slices and maps in advance, keep pointers out of large data.",
		"With memory to spare, raise GOGC (such as 400) and set GOMEMLIMIT below the memory limit: the collector then runs less often.",
	}
	f.Sites = places(f.allocs, everything)
	return f
}

// withoutProfile is the factor of the confidence where the bytes by stack are estimated from CPU
// stacks.
const withoutProfile = 0.85

func (v *view) sureOfAllocs() float64 {
	if total(v.load.Allocs) > 0 {
		return 1
	}
	return withoutProfile
}

// allocations returns the allocations by stack, or else the CPU stacks of allocation: a Go program
// that does not import runtime/pprof keeps no profile of allocations.
func (v *view) allocations() *stacks {
	if a := v.load.Allocs; a != nil && a.Total > 0 {
		return a
	}
	return v.load.OnCPU.With(allocating).Without(collecting)
}

// buffers matches what makes a large object of which one per worker is enough.
var buffers = anyOf(
	called("bytes.growSlice", "bytes.(*Buffer).grow", "bytes.makeSlice", "bytes.NewBuffer*", "bufio.NewReader*", "bufio.NewWriter*", "bufio.(*Scanner).Scan", "bufio.(*Scanner).Buffer",
		"compress/flate.NewWriter*", "compress/flate.NewReader*", "compress/flate.(*compressor).init*", "compress/flate.newHuffmanBitWriter", "compress/flate.(*dictDecoder).init", "compress/flate.newDeflateFast",
		"compress/gzip.NewWriter*", "compress/gzip.NewReader", "compress/zlib.New*",
		"github.com/klauspost/compress/*.New*", "github.com/klauspost/compress/gzip.New*", "github.com/klauspost/compress/flate.New*", "github.com/klauspost/compress/zstd.New*",
		"github.com/andybalholm/brotli.NewWriter*", "image.NewRGBA*", "image.NewNRGBA*", "image.NewGray*", "image.NewYCbCr*"),
)

// wholeReads matches the reading of a body into a new buffer.
var wholeReads = called("io.ReadAll", "io/ioutil.ReadAll", "bytes.(*Buffer).ReadFrom", "net/http/httputil.Dump*")

// makers matches functions that make what belongs in a pool, also if an encoder calls them.
var makers = in("bufio", "compress/...", "github.com/klauspost/compress/...", "github.com/andybalholm/brotli", "image")

// largeObject matches the allocation of objects of more than 32 KiB.
var largeObject = called("runtime.mallocgcLarge", "runtime.(*mcache).allocLarge")

const (
	// leastBuffer is how many bytes an answer allocates as buffers before a pool pays.
	leastBuffer = 8 << 10
	// largeObjects is the mean size of the objects of a line from which they are buffers.
	largeObjects = 2 << 10
	// largeLine is how many bytes an answer allocates in one line of code that makes a buffer by
	// itself, if the size of the objects is unknown: below, many small objects are as likely.
	largeLine = 32 << 10
	// leastPart is the share of the allocated bytes from which a cause is worth a finding.
	leastPart = 0.15
)

// direct matches the lines of the server's own code that allocate buffers by themselves.
func (v *view) direct() match {
	a := v.load.Allocs
	if a == nil || a.Total <= 0 || v.bytes() == 0 {
		return nil
	}
	type line struct {
		name string
		line int
	}
	bytes, objects := map[line]float64{}, map[line]float64{}
	for i := range a.List {
		if f, ok := allocator(&a.List[i]); ok {
			bytes[line{f.Func, f.Line}] += a.List[i].Weight
			objects[line{f.Func, f.Line}] += known(a.List[i].Objects)
		}
	}
	large := map[line]bool{}
	for l, n := range bytes {
		least := leastBuffer
		if objects[l] == 0 {
			least = largeLine
		} else if n/objects[l] < largeObjects {
			continue
		}
		large[l] = n/a.Total*v.bytes() >= float64(least)
	}
	return func(f diagnose.Frame) bool { return large[line{f.Func, f.Line}] }
}

// allocator returns the innermost frame of a stack that is not the runtime's, if it is the
// server's own code or a library's.
func allocator(s *stack) (diagnose.Frame, bool) {
	for _, f := range s.Frames {
		if f.Kind != diagnose.Runtime {
			return f, userCode(f)
		}
	}
	return diagnose.Frame{}, false
}

func unpooledBuffers(v *view) *finding {
	a := v.allocations()
	if a.Total <= 0 {
		return nil
	}
	m, notBody := anyOf(buffers, largeObject), copies
	if own := v.direct(); own != nil {
		m = anyOf(m, own)
	}
	if !v.large() {
		m, notBody = anyOf(m, wholeReads), func(diagnose.Frame) bool { return false }
	}
	found := a.With(m).Without(notBody).Filter(func(s *stack) bool {
		return s.Has(userCode) && (!s.Has(reflecting) || s.Has(makers))
	})
	part := ratio(found.Total, a.Total)
	each := part * v.bytes()
	if part < leastPart || each < leastBuffer {
		return nil
	}
	f := &finding{allocs: found, cpu: v.load.OnCPU.With(m).With(allocating), claims: m}
	cost := part * (v.gc + v.malloc)
	f.Title = fmt.Sprintf("Each answer allocates %s of buffers", bytesOf(each))
	f.Gain, f.Confidence = v.saving(cost), v.sureOfCPU(0.85)*v.sureOfAllocs()
	f.Evidence = []string{
		fmt.Sprintf("Buffers are %s of the bytes that an answer allocates, %s of %s.", percent(part), bytesOf(each), bytesOf(v.bytes())),
		fmt.Sprintf("Collection, allocation and clearing of memory take %s of the CPU time.", percent(v.gc+v.malloc)),
	}
	f.Advice = []string{
		"Keep the buffers, readers, writers or compressors of these places in a sync.Pool, and call Reset on them.",
		"Where the size is known, allocate once with that size; where the answer is written on, write it without a buffer between.",
	}
	f.Sites = places(found, m)
	return f
}

// copies matches what reads or copies a body whole.
var copies = called("io.ReadAll", "io/ioutil.ReadAll", "bytes.(*Buffer).ReadFrom", "bytes.(*Buffer).String", "runtime.slicebytetostring", "runtime.stringtoslicebyte", "bytes.Clone",
	"strings.Clone", "bytes.Join", "runtime.concatstring*", "runtime.concatbyte*", "net/http/httputil.Dump*", "strings.(*Builder).grow", "strings.(*Builder).WriteString", "bytes.(*Buffer).Write", "bytes.(*Buffer).WriteString", "slices.Clone*")

const (
	// largeBody is the size of a request and its answer from which copies of it count.
	largeBody = 16 << 10
	// leastCopies is how often the bytes of the bodies are allocated before that is too often.
	leastCopies = 2
)

// large reports whether bodies are large.
func (v *view) large() bool { return known(v.load.Request)+known(v.load.Answer) >= largeBody }

func bodyCopy(v *view) *finding {
	a := v.allocations()
	if !v.large() || a.Total <= 0 {
		return nil
	}
	found := a.With(copies)
	body := known(v.load.Request) + known(v.load.Answer)
	part := ratio(found.Total, a.Total)
	times := ratio(part*v.bytes(), body)
	if times < leastCopies || part < leastPart {
		return nil
	}
	f := &finding{allocs: found, cpu: v.load.OnCPU.With(copies), claims: copies}
	share := (v.cpu(copies) + v.gc*part) * (1 - 1/times)
	f.Title = fmt.Sprintf("Bodies are copied %.1f times in memory", times)
	f.Gain, f.Confidence = v.saving(share), v.sureOfCPU(0.8)*v.sureOfAllocs()
	f.Evidence = []string{
		fmt.Sprintf("A request and its answer have %s, and for them %s are allocated by reading whole bodies and converting them.", bytesOf(body), bytesOf(part*v.bytes())),
		fmt.Sprintf("These copies take %s of the CPU time, with their part of collection.", percent(v.cpu(copies)+v.gc*part)),
	}
	f.Advice = []string{
		"Pass the body on as a stream: io.Copy, or a decoder that reads from it.",
		"Where the whole body is needed, read it once into a buffer of its size (Content-Length) from a pool, and keep it as []byte.",
	}
	f.Sites = places(found, copies)
	return f
}

const (
	thrashing  = 0.15 // CPU share of collection from which it is too frequent
	usualGOGC  = 100  // the default: the heap doubles between collections
	leastRoom  = 0.02 // of the live heap: the runtime keeps a little
	tightLimit = 0.6  // share of GOMEMLIMIT from which the live heap leaves less than the default room
)

// room returns how much the heap grows between collections, relative to the live heap, and why
// it is so little; 0: unknown. The runtime's own goal counts what is beside the heap, too.
func (v *view) room() (room float64, why string) {
	live, limit := v.figure("heap_live_bytes"), v.goLimit()
	if n := v.gogc(); n > 0 && n < usualGOGC {
		room, why = float64(n)/usualGOGC, fmt.Sprintf("GOGC is %d: the heap grows by %d %% between collections.", n, n)
	}
	if limit > 0 && live >= tightLimit*limit {
		left := max(limit/live-1, leastRoom)
		if room == 0 || left < room {
			room, why = left, fmt.Sprintf("The live heap is %s, and GOMEMLIMIT is %s.", bytesOf(live), bytesOf(limit))
		}
	}
	if goal := v.figure("heap_goal_bytes"); live > smallestHeap && goal > 0 {
		left := max(goal/live-1, leastRoom)
		if room == 0 || left < room {
			room, why = left, strings.TrimSpace(why+fmt.Sprintf(" The live heap is %s, and each collection should end at %s.", bytesOf(live), bytesOf(goal)))
		}
	}
	return room, why
}

// gogc returns GOGC in force, or else that of the environment; 0: unknown.
func (v *view) gogc() int {
	if n := v.Server.GOGC; n > 0 {
		return n
	}
	n, _ := strconv.Atoi(v.Server.Settings["GOGC"])
	return n
}

// goLimit returns GOMEMLIMIT in force, or else that of the environment, in bytes; 0: unknown.
func (v *view) goLimit() float64 {
	if limit := known(v.Server.GoMemoryLimit); limit > 0 {
		return limit
	}
	text, factor := strings.TrimSuffix(v.Server.Settings["GOMEMLIMIT"], "B"), 1.0
	if number, ok := strings.CutSuffix(text, "i"); ok && number != "" {
		factor = map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}[number[len(number)-1]]
		text = number[:len(number)-1]
	}
	n, _ := strconv.ParseFloat(text, 64)
	return max(known(n*factor), 0)
}

// smallestHeap is the live heap below which the runtime's least goal, 4 MiB, decides.
const smallestHeap = 4 << 20

func gogcThrash(v *view) *finding {
	room, why := v.room()
	if v.gc < thrashing || room <= 0 || room >= 0.8 {
		return nil
	}
	saved := v.gc * (1 - room)
	f := &finding{Cause: diagnose.Cause{Gain: v.saving(saved), Confidence: v.sureOfCPU(0.9)}}
	f.blames = map[string]float64{"gc-pressure": 1 - room, "unpooled-buffers": 1 - room}
	f.Title = "The garbage collector has too little room"
	f.Evidence = []string{why, fmt.Sprintf("Collection takes %s of the CPU time.", percent(v.gc))}
	if n := v.rate("gc_cycles"); n > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("It runs %s times a second.", perSecond(n)))
	}
	f.Advice = []string{
		"Give the heap room: remove a small GOGC, or raise it to 100 and more; raise GOMEMLIMIT to twice the live heap or more.",
		"If memory is short, make the live heap smaller: bound caches, and keep large data outside the heap.",
	}
	return f
}

const (
	nearLimit    = 0.92 // share of a limit from which memory is short
	leastReclaim = 1    // times a second that usage reached the limit
)

func memoryLimit(v *view) *finding {
	limit, used := v.figure("cgroup_memory_limit_bytes"), v.figure("cgroup_memory_bytes")
	if limit <= 0 {
		limit = known(v.Server.MemoryLimit)
	}
	reached, kills := v.rate("cgroup_memory_max")+v.rate("cgroup_memory_high"), v.rate("cgroup_memory_oom")+v.rate("cgroup_memory_oom_kill")
	if limit <= 0 || used < nearLimit*limit && kills == 0 || reached < leastReclaim && kills == 0 {
		return nil
	}
	waits := max(v.rate("cgroup_pressure_memory_some"), v.cpu(reclaiming))
	f := &finding{blames: map[string]float64{"swap": 1}}
	f.Title = "The control group is at its memory limit"
	f.Gain, f.Confidence = v.saving(v.cpu(reclaiming)), 0.9
	f.Gain.Latency = max(f.Gain.Latency, bound(waits, 0, 0.9))
	f.Gain.Fatal = kills > 0
	f.Evidence = []string{
		fmt.Sprintf("The group uses %s of %s, and reached the limit %s times a second.", bytesOf(used), bytesOf(limit), perSecond(reached)),
		fmt.Sprintf("Its tasks waited for memory %s of the time; reclaiming took %s of the CPU time.", percent(v.rate("cgroup_pressure_memory_some")), percent(v.cpu(reclaiming))),
	}
	if kills > 0 {
		f.Evidence = append(f.Evidence, "The kernel ran out of memory in the group.")
	}
	if f.Gain.Latency < 0.1 && f.Gain.CPU < 0.1 {
		f.Confidence = 0.6
	}
	f.Advice = []string{
		"Raise the memory limit, or use less: bound caches and the bodies that are in memory at once.",
		"Set GOMEMLIMIT to 90 % of the limit, so that the collector runs before the kernel reclaims.",
	}
	return f
}

var reclaiming = called("try_to_free_mem_cgroup_pages", "mem_cgroup_handle_over_high", "shrink_node", "shrink_lruvec", "try_charge_memcg", "do_try_to_free_pages", "do_swap_page", "kswapd")

const (
	leastFaults   = 20   // page faults a second that read a disk
	leastPressure = 0.05 // share of the time in which tasks wait for memory
)

func swapping(v *view) *finding {
	faults := v.rate("faults_major")
	pressure := max(v.rate("pressure_memory_some"), v.rate("cgroup_pressure_memory_some"))
	waits := 0.0
	if off := v.load.OffCPU; off != nil && v.load.Looked > 0 && v.inflight > 0 {
		waits = bound(ratio(off.With(called("do_swap_page", "swap_readpage", "swap_read_folio", "filemap_fault", "__folio_lock_or_retry")).Total, v.load.Looked*v.inflight), 0, 1)
	}
	if faults < leastFaults || max(pressure, waits) < leastPressure {
		return nil
	}
	f := &finding{}
	f.Title = fmt.Sprintf("%s page faults a second read the disk", perSecond(faults))
	f.Gain, f.Confidence = latency(max(pressure, waits)), 0.75
	f.Evidence = []string{fmt.Sprintf("%s major page faults a second; tasks waited for memory %s of the time.", perSecond(faults), percent(pressure))}
	f.Advice = []string{
		"Give the machine or the group more memory, or use less, so that the program's pages stay in memory.",
		"Turn swap off for the service, or set GOMEMLIMIT below what is free.",
	}
	return f
}
