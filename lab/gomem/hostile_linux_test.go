package gomem

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"unsafe"
)

// own opens this process, whose memory a test can fill with anything.
func own(t *testing.T) *Process {
	t.Helper()
	t.Cleanup(func() { held = nil })
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// words is memory whose address does not change: the runtime does not move objects on the heap,
// and does not free what a variable has.
type words []uint64

var held []words

// hold puts words where they stay.
func hold(w ...uint64) words {
	held = append(held, append(words(nil), w...))
	return held[len(held)-1]
}

func (w words) addr() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(w)))) }

// put sets a field in an object at offset base, in bytes.
func (w words) put(base int, at place, v uint64) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
	binary.LittleEndian.PutUint64(b[base+at.Offset:], v)
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A list of goroutines that makes no sense ends and costs little memory.
func TestHostileGoroutines(t *testing.T) {
	p := own(t)
	const objects, size = 3000, 64 // of words
	random := rand.New(rand.NewPCG(3, 4))
	pc, _, _, _ := runtime.Caller(0)
	stack := hold(make(words, 64<<10)...)
	for i := range stack { // all return addresses are code
		stack[i] = uint64(pc)
		if i%5 == 0 {
			stack[i] = stack.addr() + uint64(i)
		}
	}
	heap := hold(make(words, objects*size)...)
	list := hold(make(words, objects)...)
	for i := range heap {
		switch random.IntN(4) {
		case 0:
			heap[i] = random.Uint64()
		case 1:
			heap[i] = uint64(pc)
		case 2:
			heap[i] = stack.addr() + random.Uint64N(uint64(len(stack)*8))&^7
		}
	}
	for i := range list {
		at := i * size * 8
		list[i] = heap.addr() + uint64(at)
		heap.put(at, p.layout["g.atomicstatus"], uint64(random.IntN(12)))
		if i%2 == 0 {
			heap.put(at, p.layout["g.stack.lo"], stack.addr())
			heap.put(at, p.layout["g.stack.hi"], stack.addr()+uint64(random.Uint64N(uint64(len(stack)*16)))) // or too large
			heap.put(at, p.layout["g.sched.sp"], stack.addr()+8*uint64(i))
			heap.put(at, p.layout["g.sched.pc"], uint64(pc))
		}
	}
	p.vars[varAllgs] = hold(list.addr(), objects, objects).addr()
	var err error
	n := allocated(func() {
		for range 3 {
			_, err = p.Goroutines(SnapshotOptions{Depth: maxDepth, System: true})
		}
	})
	if err != nil && !errors.Is(err, ErrLayout) || n > 256<<20 {
		t.Errorf("%d bytes were allocated: %v", n, err)
	}
	for _, head := range []words{{0, 5, 5}, {16, 1 << 39, 1 << 39}, {list.addr(), 1 << 60, 0}, {^uint64(0) - 8, 100, 100}, {list.addr(), 0, 0}} {
		p.vars[varAllgs] = hold(head...).addr()
		p.snaps = snapshots{}
		if _, err := p.Goroutines(SnapshotOptions{}); !errors.Is(err, ErrLayout) {
			t.Errorf("%x: %v", head, err)
		}
	}
}

// A list of buckets that never ends, or that makes no sense, is an error.
func TestHostileSites(t *testing.T) {
	p := own(t)
	if _, err := p.symbolize(); err != nil {
		t.Fatal(err)
	}
	const depth = maxSiteDepth
	ring := hold(make(words, 6+depth+64)...)
	set := func(next, typ, n uint64) {
		ring.put(0, p.layout["bucket.allnext"], next)
		ring.put(0, p.layout["bucket.typ"], typ)
		ring.put(0, p.layout["bucket.nstk"], n)
	}
	for _, c := range []struct {
		name         string
		next, typ, n uint64
		is           error
	}{
		{"a bucket that is its own successor", ring.addr(), 1, depth, ErrTooLarge},
		{"the same with a short stack", ring.addr(), 1, 1, ErrTooLarge},
		{"a stack that is too deep", 0, 1, depth + 1, ErrLayout},
		{"another type", 0, 2, 4, ErrLayout},
		{"no address", 24, 1, 4, ErrLayout},
		{"a stack of everything", 0, 1, 1 << 60, ErrLayout},
	} {
		set(c.next, c.typ, c.n)
		p.vars[varMemBuckets] = hold(ring.addr()).addr()
		p.lists = lists{}
		var err error
		n := allocated(func() { _, err = p.Sites(HeapSites) })
		if !errors.Is(err, c.is) || n > 512<<20 {
			t.Errorf("%s: %d bytes were allocated: %v", c.name, n, err)
		}
	}
}
