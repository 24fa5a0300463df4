package gomem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/gomem/functab"
)

// bucketTypes are the values of bucket.typ (runtime/mprof.go).
var bucketTypes = map[SiteKind]uint64{HeapSites: 1, BlockSites: 2, MutexSites: 3}

// siteVars are the variables that lists of buckets begin with.
var siteVars = map[SiteKind]string{HeapSites: varMemBuckets, BlockSites: varBlocks, MutexSites: varMutexes}

// logical is the first word of a stack that has an address for each function that was inlined
// (runtime.logicalStackSentinel, since Go 1.23).
const logical = ^uint64(0)

// buckets returns the list of a kind, with those buckets that were added since the last
// reading. It is nil if there are none.
func (p *Process) buckets(kind SiteKind) (*list, error) {
	if p.lists.known == nil {
		p.lists.known = map[SiteKind]*list{}
	}
	head, err := p.head(kind)
	if err != nil || head == 0 {
		return nil, layoutError(err)
	}
	l := p.lists.known[kind]
	if l == nil {
		l = &list{}
		p.lists.known[kind] = l
	}
	var fresh []site
	words := l.words
	at := head
	for at != 0 && at != l.newest {
		if len(l.sites)+len(fresh) >= maxSites || words > maxSiteWords {
			return nil, tooLarge("number of sites", uint64(len(l.sites)+len(fresh)), maxSites)
		}
		b, err := p.bucket(at, bucketTypes[kind])
		if err != nil {
			return nil, layoutError(err)
		}
		fresh = append(fresh, b.site)
		words += len(b.pcs)
		at = b.next
	}
	l.sites, l.newest, l.words = append(l.sites, fresh...), head, words
	return l, nil
}

// A bucket is what the runtime has put before a record.
type bucket struct {
	site
	next uint64
}

// bucket reads a bucket and its stack. It returns [ErrLayout] if there is none of a type.
func (p *Process) bucket(addr, typ uint64) (bucket, error) {
	next, kind, size, depth := p.layout["bucket.allnext"], p.layout["bucket.typ"], p.layout["bucket.size"], p.layout["bucket.nstk"]
	head := depth.Offset + depth.Size
	b := &p.bucketBatch
	b.reset()
	b.add(addr, head)
	if err := p.mem.read(b); err != nil {
		return bucket{}, err
	}
	n := b.uint(depth.Offset, depth.Size)
	if is := b.uint(kind.Offset, kind.Size); is != typ || n > maxSiteDepth {
		return bucket{}, fmt.Errorf("%w: a bucket of type %d with a stack of %d functions", ErrLayout, is, n)
	}
	out := bucket{next: b.uint(next.Offset, next.Size)}
	out.size = b.uint(size.Offset, size.Size)
	out.addr = addr + uint64(head) + 8*n
	b.reset()
	b.add(addr+uint64(head), 8*int(n))
	if err := p.mem.read(b); err != nil {
		return bucket{}, err
	}
	out.pcs = make([]uint64, n)
	for i := range out.pcs {
		out.pcs[i] = b.uint(8*i, 8) - p.syms.bias
	}
	if n > 0 && b.uint(0, 8) == logical {
		out.pcs = out.pcs[1:]
	}
	return out, nil
}

// expand returns the functions of a stack that the runtime has recorded. Those of the runtime
// that allocate are left out, as runtime/pprof does.
func (s *symbols) expand(pcs []uint64, heap bool) []Frame {
	frames := s.table.Expand(pcs)
	if n := len(frames); n > 1 && frames[n-1].Func == "runtime.goexit" {
		frames = frames[:n-1]
	}
	if !heap {
		return frames
	}
	own := slices.IndexFunc(frames, func(f Frame) bool {
		return !strings.HasPrefix(f.Func, prefix) && !strings.HasPrefix(f.Func, "internal/runtime/")
	})
	return frames[max(own, 0):]
}

// records reads a part of each record, one after the other.
func (p *Process) records(sites []site, from, size int) ([]byte, error) {
	out := make([]byte, len(sites)*size)
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(sites[a].addr, sites[b].addr) })
	b := &p.bucketBatch
	const each = chunkSize / (2 * maxGap)
	slots := make([]int, 0, each)
	for part := range slices.Chunk(order, each) {
		b.reset()
		slots = slots[:0]
		for _, i := range part {
			slots = append(slots, b.add(sites[i].addr+uint64(from), size))
		}
		if err := p.mem.read(b); err != nil {
			return nil, err
		}
		for n, i := range part {
			copy(out[i*size:], b.buf[slots[n]:slots[n]+size])
		}
	}
	return out, nil
}

// head returns the address of the first bucket of a list; 0 is none.
func (p *Process) head(kind SiteKind) (uint64, error) {
	if _, ok := p.vars[siteVars[kind]]; ok {
		v, err := p.variable(siteVars[kind], 8)
		return uint64(v), err
	}
	heads, err := p.guessHeads()
	if err != nil {
		return 0, err
	}
	for _, at := range heads {
		var b batch
		b.add(at, 8)
		if err := p.mem.read(&b); err != nil {
			return 0, err
		}
		if first := b.uint(0, 8); first != 0 && first%8 == 0 {
			if _, err := p.bucket(first, bucketTypes[kind]); err == nil {
				return first, nil
			} else if !errors.Is(err, errAddress) && !errors.Is(err, ErrLayout) {
				return 0, err
			}
		}
	}
	return 0, nil
}

// guessHeads returns the addresses of variables that a list may begin with in a binary without
// symbols: those that the function which adds buckets uses. A bucket says of what type it is, so
// that the first bucket tells which of the variables it is.
func (p *Process) guessHeads() ([]uint64, error) {
	if p.lists.guesses != nil {
		return p.lists.guesses, nil
	}
	var heads []uint64
	var failed error
	p.syms.table.Each("runtime.stkbucket", func(name string, f functab.Func) {
		if name != "runtime.stkbucket" {
			return
		}
		addrs, err := p.syms.image.addresses(f)
		failed = err
		for _, a := range slices.Compact(slices.Sorted(slices.Values(addrs))) {
			if a%8 == 0 {
				heads = append(heads, a+p.syms.bias)
			}
		}
	})
	if failed == nil && len(heads) == 0 {
		failed = fmt.Errorf("%w: the code of runtime.stkbucket uses no variable", ErrLayout)
	}
	p.lists.guesses = heads
	return heads, failed
}
