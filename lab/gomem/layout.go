package gomem

import (
	"fmt"
	"slices"
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
		{name: "sched.gFree", paths: []string{"gFree.n", "gFree.stack.size"}, signed: true},
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
	}},
	{"runtime.m", []want{
		{name: "m.curg", paths: []string{"curg"}},
	}},
	{"runtime.g", []want{
		{name: "g.atomicstatus", paths: []string{"atomicstatus"}},
		{name: "g.waitreason", paths: []string{"waitreason"}},
		{name: "g.startpc", paths: []string{"startpc"}},
	}},
}

// optional lists fields that some versions of Go lack without a figure being missing.
var optional = []string{"sched.gFree.noStack", "sched.nGsyscallNoP"}

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
)

// Parts of variables that are slices.
const (
	allgsLen = varAllgs + ".len"
	allgsPtr = varAllgs + ".ptr"
)

// variables lists them with their sizes where these are the same in every version; 0 is a
// structure.
var variables = []struct {
	name string
	size int
}{
	{varAllgs, 0}, // a slice, of which the length is read first: the array only grows
	{varAllp, 24},
	{varProcs, 4},
	{varPhase, 4},
	{varSched, 0},
	{varGC, 0},
	{varMemstats, 0},
	{varWork, 0},
	{varReasons, 0},
}

// maxObject bounds offsets in the runtime's structures, in bytes.
const maxObject = 1 << 20

// check returns an error if a layout cannot be that of a runtime.
func (l layout) check() error {
	for name, p := range l {
		if p.Offset < 0 || p.Size <= 0 || p.Offset > maxObject || p.Size > maxObject {
			return fmt.Errorf("%w: %s is at offset %d and has %d bytes", ErrLayout, name, p.Offset, p.Size)
		}
		if name != "memstats.heapStats" && name != "delta" && !slices.Contains([]int{1, 2, 4, 8}, p.Size) {
			return fmt.Errorf("%w: %s has %d bytes and is no number", ErrLayout, name, p.Size)
		}
	}
	return nil
}
