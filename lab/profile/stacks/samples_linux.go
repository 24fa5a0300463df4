package stacks

import (
	"encoding/binary"
	"slices"

	"github.com/redline-go/redline/lab/profile/perfevent"
)

const maxStacks = 100_000 // different ones; beyond, only the innermost function is kept

// place is where and in which thread a sample was taken.
type place struct {
	space    *space
	pid, tid int
	name     string // of the thread
	state    byte   // of a thread that left, 0 otherwise
	slice    uint16 // part of the window, from 1; 0: it is not told apart
	kernel   []uint64
	user     []uint64
}

// bucket has the samples of one place.
type bucket struct {
	place
	count, value int64
}

// samples are the buckets, by stack.
type samples struct {
	buckets map[string]*bucket
	key     []byte
	folded  int64 // samples of which only the innermost function was kept
	total   int64
	single  int64 // samples with one frame of the program
	missing int64 // samples that found no room at all
}

func newSamples() *samples { return &samples{buckets: map[string]*bucket{}} }

// add counts samples of a place.
func (s *samples) add(at place, count, value int64) {
	s.total += count
	if len(at.user) == 1 {
		s.single += count
	}
	b := s.buckets[string(s.encode(at))]
	if b == nil && at.slice > 0 && len(s.buckets) >= maxStacks/2 {
		at.slice = 0 // rather than the stack
		b = s.buckets[string(s.encode(at))]
	}
	if b == nil && len(s.buckets) >= maxStacks {
		s.folded += count
		at.kernel, at.user = at.kernel[:min(1, len(at.kernel))], at.user[:min(1, len(at.user))]
		b = s.buckets[string(s.encode(at))]
	}
	if b == nil {
		if len(s.buckets) >= 2*maxStacks {
			s.missing += count
			return
		}
		at.kernel, at.user = slices.Clone(at.kernel), slices.Clone(at.user)
		b = &bucket{place: at}
		s.buckets[string(s.key)] = b
	}
	b.count += count
	b.value += value
}

// encode writes what makes a place different from others.
func (s *samples) encode(at place) []byte {
	k := append(s.key[:0], at.state, byte(len(at.kernel)))
	k = binary.LittleEndian.AppendUint64(k, uint64(at.pid)<<32|uint64(uint32(at.tid)))
	k = binary.LittleEndian.AppendUint64(k, at.space.number)
	k = binary.LittleEndian.AppendUint16(k, at.slice)
	for _, stack := range [][]uint64{at.kernel, at.user} {
		for _, addr := range stack {
			k = binary.LittleEndian.AppendUint64(k, addr)
		}
	}
	s.key = append(k, at.name...)
	return s.key
}

// place returns where a sample was taken. The files of its stack are opened: later the
// process may be gone.
func (s *session) place(p *process, r *perfevent.Record) place {
	at := place{space: p.space, pid: r.PID, tid: r.TID, name: p.threadName(r.TID), kernel: r.Kernel, user: r.User}
	if !s.opts.Kernel {
		at.kernel = nil
	}
	for _, addr := range at.user {
		s.mapping(p.space, addr)
	}
	at.user = s.unwind(p.space, at.user, r.Leaf)
	return at
}

// mapping returns the mapping of an address, whose file is open.
func (s *session) mapping(sp *space, addr uint64) *mapping {
	m := sp.find(addr)
	if m != nil && !m.opened {
		s.files.of(sp.pid, m)
		s.readJIT(sp, m)
	}
	return m
}

// readJIT reads the functions of a compiler at run time when the first of its code is seen.
// The file is read again at the end, when it has more.
func (s *session) readJIT(sp *space, m *mapping) {
	if sp.tried || !m.anonymous() {
		return
	}
	sp.tried = true
	sp.jit, sp.problem = readMap(sp.pid)
}
