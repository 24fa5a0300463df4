package gomem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	rpprof "runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// A SiteKind is one of the profiles that the runtime keeps by itself.
type SiteKind string

// The kinds of [Process.Sites].
const (
	// HeapSites is the heap profile as runtime/pprof has it: as of a cycle of the collector that
	// is complete. The runtime keeps it unless no code of the binary can read it.
	HeapSites SiteKind = "heap"
	// AllocSites is the same with all allocations until now. Objects in use remain those of the
	// complete cycle: what was freed since is not known yet.
	AllocSites SiteKind = "allocs"
	// BlockSites is where goroutines have waited, if the program has called
	// runtime.SetBlockProfileRate.
	BlockSites SiteKind = "block"
	// MutexSites is where mutexes were held that others waited for, if the program has called
	// runtime.SetMutexProfileFraction, and how long the others waited.
	MutexSites SiteKind = "mutex"
)

// Sites is one reading of a profile that the runtime keeps.
type Sites struct {
	Kind SiteKind
	At   time.Time
	// Rate is bytes per sample of the heap (runtime.MemProfileRate), CPU ticks per sample of
	// BlockSites, or events per sample of MutexSites. It is 0 if the program has stopped the
	// profile.
	Rate   int64
	syms   *symbols
	sites  []site
	values [][4]float64 // of each site, as the types of samples
}

// A site is a bucket of the runtime: a stack and, of the heap, a size.
type site struct {
	addr uint64   // of the record
	size uint64   // bytes of an object
	pcs  []uint64 // return addresses of the file
}

// lists is what is kept of the buckets, which the runtime neither changes nor frees.
type lists struct {
	known   map[SiteKind]*list
	guesses []uint64 // addresses of variables that a list may begin with
}

type list struct {
	newest uint64 // the first bucket of the last reading
	sites  []site
	words  int
}

const (
	maxSites     = 1 << 17
	maxSiteWords = 1 << 22 // addresses in stacks of all sites
	maxSiteDepth = 1024    // addresses in a stack (runtime.maxProfStackDepth)
	cycles       = 3       // that the heap profile keeps apart until they are complete
)

// Sites reads a profile that the runtime keeps. It is the program that decides which ones: if it
// keeps none, the error is [ErrNoProfile] with the reason. Others are [ErrGone], [ErrLayout],
// [ErrTooLarge] or of the kernel.
func (p *Process) Sites(kind SiteKind) (*Sites, error) {
	syms, err := p.symbolize()
	if err != nil {
		return nil, err
	}
	s, err := p.sites(kind)
	if err != nil {
		return nil, fmt.Errorf("read the %s profile of the runtime: %w", kind, err)
	}
	s.syms = syms
	return s, nil
}

func (p *Process) sites(kind SiteKind) (*Sites, error) {
	base, rateVar := kind, map[SiteKind]string{HeapSites: varMemRate, AllocSites: varMemRate, BlockSites: varBlockRate, MutexSites: varMutexRate}[kind]
	if kind == AllocSites {
		base = HeapSites
	}
	if rateVar == "" {
		return nil, fmt.Errorf("%q is no kind of profile: %w", kind, errors.ErrUnsupported)
	}
	if !p.has("bucket.allnext", "bucket.typ", "bucket.size", "bucket.nstk", "mem.active", "mem.future", "cycle.allocs", "cycle.frees",
		"wait.count", "wait.cycles") {
		return nil, fmt.Errorf("%w: %s has other buckets", ErrLayout, p.info.Version)
	}
	rate, err := p.variable(rateVar, 8)
	if err != nil {
		return nil, err
	}
	list, err := p.buckets(base)
	if err != nil {
		return nil, err
	}
	if list == nil || len(list.sites) == 0 {
		return nil, absent(base, rate)
	}
	s := &Sites{Kind: kind, Rate: rate, sites: list.sites[:len(list.sites):len(list.sites)]}
	if base == HeapSites {
		err = p.readHeap(s)
	} else {
		err = p.readWaits(s)
	}
	s.At = time.Now()
	return s, err
}

// absent says why a profile has nothing.
func absent(kind SiteKind, rate int64) error {
	switch {
	case rate != 0:
		return fmt.Errorf("%w: nothing was recorded yet", ErrNoProfile)
	case kind == HeapSites:
		return fmt.Errorf("%w: runtime.MemProfileRate is 0: the program sets it, or the linker found that nothing in it calls "+
			"runtime.MemProfile; import net/http/pprof or runtime/pprof and use the heap profile", ErrNoProfile)
	case kind == BlockSites:
		return fmt.Errorf("%w: the program has not called runtime.SetBlockProfileRate", ErrNoProfile)
	}
	return fmt.Errorf("%w: the program has not called runtime.SetMutexProfileFraction", ErrNoProfile)
}

// variable reads a number that is no part of each reading.
func (p *Process) variable(name string, size int) (int64, error) {
	addr, ok := p.vars[name]
	if !ok {
		return 0, fmt.Errorf("%w: %s was not found in this binary", ErrLayout, name)
	}
	var b batch
	b.add(addr, size)
	if err := p.mem.read(&b); err != nil {
		return 0, err
	}
	return int64(b.uint(0, size)), nil
}

// readHeap reads the records of the heap. Those of a cycle that is complete are being added to
// the active ones for some time, bucket by bucket: a reading counts if no active record has
// changed until the next one.
func (p *Process) readHeap(s *Sites) error {
	active, future := p.layout["mem.active"], p.layout["mem.future"]
	from, size := span(p.layout, "mem.active", "mem.future")
	one := future.Size / cycles
	if one != active.Size || size > maxSpan {
		return fmt.Errorf("%w: runtime.memRecord has %d and %d bytes", ErrLayout, active.Size, future.Size)
	}
	var was, is []byte
	for range maxTries {
		n, err := p.variable(varMemCycle, 4)
		if err != nil {
			return err
		}
		if is, err = p.records(s.sites, from, size); err != nil {
			return err
		}
		m, err := p.variable(varMemCycle, 4)
		if err != nil {
			return err
		}
		steady := was != nil && n == m
		for i := 0; steady && i < len(is); i += size {
			a, b := is[i+active.Offset-from:], was[i+active.Offset-from:]
			steady = bytes.Equal(a[:active.Size], b[:active.Size])
		}
		was = is
		if !steady {
			continue
		}
		complete := int(uint32(n)>>1) % cycles
		s.values = make([][4]float64, len(s.sites))
		nothing := true
		sums := make([]heapSums, len(s.sites))
		for i := range s.sites {
			rec := is[i*size : (i+1)*size]
			sums[i].complete = p.cycle(rec[active.Offset-from:]).plus(p.cycle(rec[future.Offset-from+complete*one:]))
			sums[i].all = p.cycle(rec[active.Offset-from:])
			for c := range cycles {
				sums[i].all = sums[i].all.plus(p.cycle(rec[future.Offset-from+c*one:]))
			}
			nothing = nothing && sums[i].complete == record{}
		}
		for i, sum := range sums {
			if nothing { // before the first cycle, runtime/pprof shows what there is
				sum.complete = sum.all
			}
			s.values[i] = sum.values(s.Kind, s.Rate, s.sites[i].size)
		}
		return nil
	}
	return fmt.Errorf("%w: the collector changes it all the time, try again", errBusy)
}

// errBusy means that what is read changes while it is read.
var errBusy = errors.New("the profile is not at rest")

// A record is how many objects were allocated and freed at a site (runtime.memRecordCycle). All of
// a site have the same size. Until Go 1.26 the runtime counted their bytes as well.
type record struct{ allocs, frees uint64 }

type heapSums struct{ complete, all record }

func (r record) plus(s record) record {
	return record{r.allocs + s.allocs, r.frees + s.frees}
}

// cycle decodes a record.
func (p *Process) cycle(b []byte) record {
	get := func(name string) uint64 {
		at := p.layout[name]
		if at.Offset+at.Size > len(b) {
			return 0
		}
		return number(b[at.Offset:][:at.Size])
	}
	return record{get("cycle.allocs"), get("cycle.frees")}
}

// values estimates what the samples of a site are of, whose objects have a size (runtime/pprof,
// scaleHeapSample).
func (h heapSums) values(kind SiteKind, rate int64, size uint64) [4]float64 {
	scaled := func(count uint64) (float64, float64) {
		n, b := int64(count), int64(count*size)
		if n == 0 || b == 0 {
			return 0, 0
		}
		if rate <= 1 {
			return float64(n), float64(b)
		}
		scale := 1 / (1 - math.Exp(-float64(b)/float64(n)/float64(rate)))
		return math.Trunc(float64(n) * scale), math.Trunc(float64(b) * scale)
	}
	made := h.complete
	if kind == AllocSites {
		made = h.all
	}
	var v [4]float64
	v[0], v[1] = scaled(made.allocs)
	v[2], v[3] = scaled(h.complete.allocs - h.complete.frees)
	return v
}

// readWaits reads the records of waits (runtime.blockRecord).
func (p *Process) readWaits(s *Sites) error {
	count, ticks := p.layout["wait.count"], p.layout["wait.cycles"]
	from, size := span(p.layout, "wait.count", "wait.cycles")
	if size > maxSpan || count.Size != 8 {
		return fmt.Errorf("%w: runtime.blockRecord has %d bytes", ErrLayout, size)
	}
	perTick, err := tick()
	if err != nil {
		return err
	}
	b, err := p.records(s.sites, from, size)
	if err != nil {
		return err
	}
	s.values = make([][4]float64, len(s.sites))
	for i := range s.sites {
		rec := b[i*size : (i+1)*size]
		n := math.Float64frombits(number(rec[count.Offset-from:][:8]))
		d := float64(int64(number(rec[ticks.Offset-from:][:ticks.Size]))) * perTick
		if n >= 0 && n < math.MaxInt64 && d >= 0 && d < math.MaxInt64 {
			s.values[i] = [4]float64{math.Trunc(n), math.Trunc(d)}
			if s.Kind == BlockSites { // as runtime.BlockProfile does
				s.values[i][0] = max(s.values[i][0], 1)
			}
		}
	}
	return nil
}

// tick returns how many nanoseconds a tick of the CPU's counter has. All CPUs of a machine have
// the same, and the runtime of this process has measured it: it writes it into its own profiles.
var tick = sync.OnceValues(func() (float64, error) {
	var b bytes.Buffer
	if err := rpprof.Lookup("mutex").WriteTo(&b, 1); err != nil {
		return 0, fmt.Errorf("ask the runtime for the ticks of a second: %w", err)
	}
	_, rest, ok := strings.Cut(b.String(), "cycles/second=")
	text, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !ok || err != nil || n <= 0 {
		return 0, fmt.Errorf("ask the runtime for the ticks of a second: it says %q", text)
	}
	return 1e9 / n, nil
})

// Allocated returns what a process has allocated during a window, by site: a profile of
// AllocSites in which objects and bytes are those of the window. If the context is done before,
// the error is that of the context.
func Allocated(ctx context.Context, p *Process, window time.Duration) (*profile.Profile, error) {
	before, err := p.Sites(AllocSites)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(window)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	after, err := p.Sites(AllocSites)
	if err != nil {
		return nil, err
	}
	return after.Since(before)
}

// Profile returns the reading as a profile in the format of pprof, with the types of samples
// that runtime/pprof has: alloc_objects, alloc_space, inuse_objects and inuse_space, or
// contentions and delay. Values of the heap are estimates from samples, as those of
// runtime/pprof.
func (s *Sites) Profile() (*profile.Profile, error) { return s.make(nil) }

// Since returns a profile of what was recorded since an earlier reading of the same process and
// kind. The heap in use is left out, because a difference of it is no heap.
func (s *Sites) Since(before *Sites) (*profile.Profile, error) {
	if before.Kind != s.Kind || before.syms != s.syms {
		return nil, fmt.Errorf("compare a %s profile with a %s profile: take both of the same process", s.Kind, before.Kind)
	}
	return s.make(before)
}

func (s *Sites) make(before *Sites) (*profile.Profile, error) {
	types := []string{"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"}
	heap := s.Kind == HeapSites || s.Kind == AllocSites
	if !heap {
		types = []string{"contentions", "count", "delay", "nanoseconds"}
	} else if before != nil {
		types = types[:4]
	}
	c := s.syms.collect(types...)
	c.out.TimeNanos = s.At.UnixNano()
	c.out.PeriodType, c.out.Period = &profile.ValueType{Type: "contentions", Unit: "count"}, 1
	if heap {
		c.out.PeriodType, c.out.Period = &profile.ValueType{Type: "space", Unit: "bytes"}, s.Rate
	}
	was := map[uint64][4]float64{}
	if before != nil {
		c.out.DurationNanos = int64(s.At.Sub(before.At))
		c.out.TimeNanos = before.At.UnixNano()
		for i, site := range before.sites {
			was[site.addr] = before.values[i]
		}
	}
	for i, site := range s.sites {
		delta := make([]int64, len(c.out.SampleType))
		for k := range delta {
			delta[k] = int64(s.values[i][k] - was[site.addr][k])
		}
		if !slices.ContainsFunc(delta, func(v int64) bool { return v != 0 }) {
			continue
		}
		sample := c.add(s.syms.expand(site.pcs, heap))
		sample.Value = delta
		if heap {
			sample.NumLabel = map[string][]int64{"bytes": {int64(site.size)}}
		}
	}
	if s.Rate == 0 {
		c.note("the program has stopped this profile")
	}
	return c.profile()
}
