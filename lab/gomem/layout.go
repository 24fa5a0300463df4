package gomem

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A place is a field within a structure of the runtime.
type place struct {
	Offset int `json:"o"`
	Size   int `json:"s"` // bytes
}

// A layout maps the names of fields to their places in one build of the runtime.
type layout map[string]place

// A want is a field that figures are calculated from.
type want struct {
	name   string   // of the field in a layout: the structure, a dot, and the first path
	paths  []string // how versions of Go have named it; the first that exists counts
	signed bool
}

// structures lists what the layout of the runtime is needed of: the name of the type, and the
// fields. A structure has one variable or many objects.
var structures = []struct {
	typ    string // in DWARF
	fields []want
}{
	{"runtime.schedt", []want{
		{name: "sched.ngsys", paths: []string{"ngsys"}, signed: true},
		{name: "sched.gFree.n", paths: []string{"gFree.n"}, signed: true},
		{name: "sched.gFree.stack", paths: []string{"gFree.stack.size"}, signed: true},
		{name: "sched.gFree.noStack", paths: []string{"gFree.noStack.size"}, signed: true},
		{name: "sched.mnext", paths: []string{"mnext"}, signed: true},
		{name: "sched.nmfreed", paths: []string{"nmfreed"}, signed: true},
		{name: "sched.nmidle", paths: []string{"nmidle"}, signed: true},
		{name: "sched.nmspinning", paths: []string{"nmspinning"}, signed: true},
		{name: "sched.nGsyscallNoP", paths: []string{"nGsyscallNoP"}, signed: true},
		{name: "sched.runq", paths: []string{"runqsize", "runq.size"}, signed: true},
	}},
	{"runtime.gcControllerState", []want{
		{name: "gc.gcPercent", paths: []string{"gcPercent"}, signed: true},
		{name: "gc.memoryLimit", paths: []string{"memoryLimit"}, signed: true},
		{name: "gc.gcPercentHeapGoal", paths: []string{"gcPercentHeapGoal"}},
		{name: "gc.sweepDistMinTrigger", paths: []string{"sweepDistMinTrigger"}},
		{name: "gc.triggered", paths: []string{"triggered"}},
		{name: "gc.runway", paths: []string{"runway"}},
		{name: "gc.heapLive", paths: []string{"heapLive"}},
		{name: "gc.heapMarked", paths: []string{"heapMarked"}},
		{name: "gc.heapInUse", paths: []string{"heapInUse"}},
		{name: "gc.heapReleased", paths: []string{"heapReleased"}},
		{name: "gc.heapFree", paths: []string{"heapFree"}},
		{name: "gc.totalAlloc", paths: []string{"totalAlloc"}},
		{name: "gc.totalFree", paths: []string{"totalFree"}},
		{name: "gc.mappedReady", paths: []string{"mappedReady"}},
	}},
	{"runtime.mstats", []want{
		{name: "memstats.heapStats", paths: []string{"heapStats.stats"}},
		{name: "memstats.last_gc_unix", paths: []string{"last_gc_unix"}},
		{name: "memstats.pause_total_ns", paths: []string{"pause_total_ns"}},
		{name: "memstats.numgc", paths: []string{"numgc"}},
		{name: "memstats.numforcedgc", paths: []string{"numforcedgc"}},
	}},
	{"runtime.heapStatsDelta", []want{
		{name: "delta.inStacks", paths: []string{"inStacks"}, signed: true},
	}},
	{"runtime.workType", []want{
		{name: "work.cycles", paths: []string{"cycles"}},
		{name: "work.gcAssist", paths: []string{"cpuStats.GCAssistTime", "cpuStats.gcAssistTime"}, signed: true},
		{name: "work.gcTotal", paths: []string{"cpuStats.GCTotalTime", "cpuStats.gcTotalTime"}, signed: true},
		{name: "work.idle", paths: []string{"cpuStats.IdleTime", "cpuStats.idleTime"}, signed: true},
		{name: "work.user", paths: []string{"cpuStats.UserTime", "cpuStats.userTime"}, signed: true},
		{name: "work.total", paths: []string{"cpuStats.TotalTime", "cpuStats.totalTime"}, signed: true},
	}},
	{"runtime.p", []want{
		{name: "p.id", paths: []string{"id"}},
		{name: "p.status", paths: []string{"status"}},
		{name: "p.m", paths: []string{"m"}},
		{name: "p.runqhead", paths: []string{"runqhead"}},
		{name: "p.runqtail", paths: []string{"runqtail"}},
		{name: "p.runnext", paths: []string{"runnext"}},
		{name: "p.gFree", paths: []string{"gFree.n", "gFree.size"}, signed: true},
		{name: "p.timers", paths: []string{"numTimers", "timers.len"}},
		{name: "p.schedtick", paths: []string{"schedtick"}},
		{name: "p.syscalltick", paths: []string{"syscalltick"}},
	}},
	{"runtime.m", []want{
		{name: "m.curg", paths: []string{"curg"}},
		{name: "m.incgo", paths: []string{"incgo"}},
	}},
	{"runtime.g", []want{
		{name: "g.stack.lo", paths: []string{"stack.lo"}},
		{name: "g.stack.hi", paths: []string{"stack.hi"}},
		{name: "g.m", paths: []string{"m"}},
		{name: "g.sched.sp", paths: []string{"sched.sp"}},
		{name: "g.sched.pc", paths: []string{"sched.pc"}},
		{name: "g.sched.lr", paths: []string{"sched.lr"}},
		{name: "g.syscallsp", paths: []string{"syscallsp"}},
		{name: "g.syscallpc", paths: []string{"syscallpc"}},
		{name: "g.goid", paths: []string{"goid"}},
		{name: "g.waitsince", paths: []string{"waitsince"}},
		{name: "g.trackingSeq", paths: []string{"trackingSeq"}},
		{name: "g.gopc", paths: []string{"gopc"}},
		{name: "g.atomicstatus", paths: []string{"atomicstatus"}},
		{name: "g.waitreason", paths: []string{"waitreason"}},
		{name: "g.startpc", paths: []string{"startpc"}},
		{name: "g.waiting", paths: []string{"waiting"}},
	}},
	{"runtime.sudog", []want{
		{name: "sudog.waitlink", paths: []string{"waitlink"}},
		{name: "sudog.c", paths: []string{"c.maybeTraceablePtr.vu", "c"}},
	}},
	{"runtime.hchan", []want{
		{name: "hchan.timer", paths: []string{"timer"}},
		{name: "hchan.dataqsiz", paths: []string{"dataqsiz"}},
		{name: "hchan.elemsize", paths: []string{"elemsize"}},
		{name: "hchan.sendq.first", paths: []string{"sendq.first"}},
	}},
	{"runtime.bucket", []want{
		{name: "bucket.allnext", paths: []string{"allnext"}},
		{name: "bucket.typ", paths: []string{"typ"}},
		{name: "bucket.size", paths: []string{"size"}},
		{name: "bucket.nstk", paths: []string{"nstk"}}, // the last field: the stack is after it
	}},
	{"runtime.memRecord", []want{
		{name: "mem.active", paths: []string{"active"}},
		{name: "mem.future", paths: []string{"future"}},
	}},
	{"runtime.memRecordCycle", []want{
		{name: "cycle.allocs", paths: []string{"allocs"}},
		{name: "cycle.frees", paths: []string{"frees"}},
	}},
	{"runtime.blockRecord", []want{
		{name: "wait.count", paths: []string{"count"}},
		{name: "wait.cycles", paths: []string{"cycles"}},
	}},
}

// optional lists fields that some versions of Go lack without a figure being missing.
var optional = []string{"sched.gFree.n", "sched.gFree.stack", "sched.gFree.noStack", "sched.nGsyscallNoP", "hchan.timer"}

// The variables of the runtime that are read. The first word of a field's name says in which
// of them it is.
const (
	varSched    = "runtime.sched"
	varGC       = "runtime.gcController"
	varMemstats = "runtime.memstats"
	varWork     = "runtime.work"
	varAllgs    = "runtime.allgs"
	varAllp     = "runtime.allp"
	varProcs    = "runtime.gomaxprocs"
	varPhase    = "runtime.gcphase"
	varReasons  = "runtime.waitReasonStrings"

	varCPUs       = "runtime.numCPUStartup"
	varMemRate    = "runtime.MemProfileRate"
	varBlockRate  = "runtime.blockprofilerate"
	varMutexRate  = "runtime.mutexprofilerate"
	varMemCycle   = "runtime.mProfCycle"
	varMemBuckets = "runtime.mbuckets"
	varBlocks     = "runtime.bbuckets"
	varMutexes    = "runtime.xbuckets"
)

// Parts of variables that are slices.
const (
	allgsLen = varAllgs + ".len"
	allgsPtr = varAllgs + ".ptr"
)

// variables lists them with their sizes where these are the same in every version; 0 is a
// structure. Those that are apart are no part of each reading, and a process that lacks them
// has all its figures.
var variables = []struct {
	name  string
	size  int
	apart bool
	was   string // the name in older versions
}{
	{name: varAllgs}, // a slice, of which the length is read first: the array only grows
	{name: varAllp, size: 24},
	{name: varProcs, size: 4},
	{name: varPhase, size: 4},
	{name: varSched},
	{name: varGC},
	{name: varMemstats},
	{name: varWork},
	{name: varReasons},
	{name: varCPUs, size: 4, apart: true, was: "runtime.ncpu"},
	{name: varMemRate, size: 8, apart: true},
	{name: varBlockRate, size: 8, apart: true},
	{name: varMutexRate, size: 8, apart: true},
	{name: varMemCycle, size: 4, apart: true},
	{name: varMemBuckets, size: 8, apart: true},
	{name: varBlocks, size: 8, apart: true},
	{name: varMutexes, size: 8, apart: true},
}

// maxObject bounds offsets in the runtime's structures, in bytes.
const maxObject = 1 << 20

// check returns an error if a layout cannot be that of a runtime.
func (l layout) check() error {
	for name, p := range l {
		if p.Offset < 0 || p.Size <= 0 || p.Offset > maxObject || p.Size > maxObject {
			return fmt.Errorf("%w: %s is at offset %d and has %d bytes", ErrLayout, name, p.Offset, p.Size)
		}
		if !fits(name, p.Size) {
			return fmt.Errorf("%w: %s has %d bytes and is no number", ErrLayout, name, p.Size)
		}
	}
	return nil
}

// fits reports whether a field may have a size: most are numbers.
func fits(name string, size int) bool {
	return name == "memstats.heapStats" || strings.HasPrefix(name, "mem.") || slices.Contains([]int{1, 2, 4, 8}, size)
}

// layouts.json has what a binary without debugging information or symbols does not tell. It is
// written by `make gomem-layouts`, from binaries that the toolchains build.
//
//go:embed layouts.json
var layoutsJSON []byte

// A release is what is known of the runtime of some patch releases of Go, which do not differ.
type release struct {
	First   string           `json:"first"` // "go1.23.0"
	Last    string           `json:"last"`  // later patches of a minor version are expected to be the same
	Reasons []string         `json:"reasons"`
	Arch    map[string]*port `json:"arch"` // by GOARCH
}

// A port is a release on one architecture.
type port struct {
	Fields layout `json:"fields"`
	// Sizes are those of the variables in bytes, which a symbol table tells too.
	Sizes map[string]uint64 `json:"sizes"`
	// Witnesses are functions that use a variable, and the offset within the variable, for each
	// of the variables.
	Witnesses map[string][]witness `json:"witnesses"`
}

// releases decodes the table.
var releases = sync.OnceValues(func() ([]*release, error) {
	var m []*release
	if err := json.Unmarshal(layoutsJSON, &m); err != nil {
		return nil, fmt.Errorf("decode layouts.json: %w", err)
	}
	return m, nil
})

// parse splits the version of a released toolchain without experiments: 26 and 8 of "go1.26.8".
func parse(version string) (minor, patch int, ok bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0, 0, false
	}
	first, second, dot := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	if dot {
		patch, err = strconv.Atoi(second)
	}
	return minor, patch, err == nil
}

// find returns the row for a version: of those of its minor version, the last that does not
// begin after it; nil if there is none.
func find(all []*release, version string) *release {
	minor, patch, ok := parse(version)
	var best *release
	for _, r := range all {
		if m, p, _ := parse(r.First); ok && m == minor && p <= patch {
			best = r // the table is sorted
		}
	}
	return best
}

// knownPort finds the row of the table that fits a binary.
func knownPort(im *image) (*release, *port, error) {
	all, err := releases()
	if err != nil {
		return nil, nil, err
	}
	if _, _, ok := parse(im.version); !ok {
		return nil, nil, fmt.Errorf("%w: %q is not a released toolchain without experiments: build without -s and -w", ErrLayout, im.version)
	}
	if x := im.tags["GOEXPERIMENT"]; x != "" {
		return nil, nil, fmt.Errorf("%w: built with GOEXPERIMENT=%s: build without -s and -w", ErrLayout, x)
	}
	r := find(all, im.version)
	if r == nil {
		return nil, nil, fmt.Errorf("%w: %s is not in the table of versions: build without -s and -w", ErrLayout, im.version)
	}
	p, ok := r.Arch[im.arch]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s on %s is not in the table of versions: build without -s and -w", ErrLayout, im.version, im.arch)
	}
	return r, p, nil
}

// knownLayout returns the layout that the toolchain of a binary gives to the runtime, and
// which toolchains it was taken from. Sizes of variables that the symbol table tells have to
// agree.
func knownLayout(im *image) (layout, string, error) {
	r, p, err := knownPort(im)
	if err != nil {
		return nil, "", err
	}
	for name, size := range im.sizes {
		if p.Sizes[name] != 0 && size != 0 && p.Sizes[name] != size {
			return nil, "", fmt.Errorf("%w: %s has %d bytes, with %s it has %d: build without -w", ErrLayout, name, size, r.Last, p.Sizes[name])
		}
	}
	return p.Fields, fmt.Sprintf("%s to %s", r.First, r.Last), p.Fields.check()
}

// knownReasons returns the names of what goroutines wait for.
func knownReasons(version string) []string {
	all, err := releases()
	if err != nil {
		return nil
	}
	if r := find(all, version); r != nil {
		return r.Reasons
	}
	return nil
}
