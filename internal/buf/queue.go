package buf

import (
	"os"
	"unsafe"
)

const (
	// ChunkSize is the size of the chunks that output is copied into, in bytes.
	ChunkSize = 16 << 10
	// RefSize is the length from which [Queue.Ref] references a slice; shorter ones are
	// copied, which is cheaper than a separate segment.
	RefSize = 1 << 10
)

// A Queue holds bytes that wait to be sent, in order. The zero value is empty and ready. A
// queue has one owner at a time: it is not safe for concurrent use, and it must not be
// copied.
type Queue struct {
	open []byte // chunk being filled, with all of its capacity; nil if there is none
	r, w int    // open[r:w] are the bytes after all segments
	n    int    // bytes in the queue, including files
	held int    // bytes of memory in chunks, including open
	segs []segment
	head int // segs[:head] are done
}

// A segment is a run of bytes that is complete.
type segment struct {
	b     []byte     // to be sent; nil for a file
	chunk []byte     // returns to the pool with this segment; nil if b is a reference or others share it
	file  *fileRange // or the rest of a file
}

type fileRange struct {
	f    *os.File
	off  int64
	n    int
	done func()
}

// Len is the number of bytes in the queue, including file ranges.
func (q *Queue) Len() int { return q.n }

// Held is the memory that the queue's chunks take, in bytes; referenced memory does not
// count.
func (q *Queue) Held() int { return q.held }

// Tail returns a slice of length 0 and a capacity of at least n bytes for the
// caller to append to. [Queue.Commit] then takes it. Nothing else may be done
// with the queue in between.
func (q *Queue) Tail(n int) []byte {
	if len(q.open)-q.w < n || q.open == nil {
		q.grow(n)
	}
	return q.open[q.w:q.w]
}

// grow replaces the open chunk by one that has room for n bytes.
func (q *Queue) grow(n int) {
	chunk := q.open
	if q.w > q.r {
		q.segs = append(q.segs, segment{b: chunk[q.r:q.w], chunk: chunk})
	} else if chunk != nil {
		q.retire(chunk)
	}
	b := Get(max(n, ChunkSize))
	q.open = b[:cap(b)]
	q.r, q.w = 0, 0
	q.held += cap(b)
}

// retire returns a chunk whose bytes have all been sent. Segments share it until then: the
// last of them carries it, or an empty carrier segment does.
func (q *Queue) retire(chunk []byte) {
	if q.head < len(q.segs) {
		q.segs = append(q.segs, segment{chunk: chunk})
		return
	}
	q.drop(chunk)
}

func (q *Queue) drop(chunk []byte) {
	q.held -= cap(chunk)
	Put(chunk)
}

// Commit appends b to the queue: the slice that [Queue.Tail] returned, extended by what was
// appended to it. If append has moved it, it is referenced where it is now.
func (q *Queue) Commit(b []byte) {
	if len(b) == 0 {
		return
	}
	if q.w < len(q.open) && unsafe.SliceData(b) == &q.open[q.w] {
		q.w += len(b)
		q.n += len(b)
		return
	}
	q.Ref(b)
}

// Write copies p. It never fails; the results are those of an [io.Writer].
func (q *Queue) Write(p []byte) (int, error) {
	write(q, p)
	return len(p), nil
}

// WriteString copies s. It never fails.
func (q *Queue) WriteString(s string) (int, error) {
	write(q, s)
	return len(s), nil
}

func write[T []byte | string](q *Queue, p T) {
	q.n += len(p)
	for {
		k := copy(q.open[q.w:], p)
		q.w += k
		p = p[k:]
		if len(p) == 0 {
			return
		}
		q.grow(min(len(p), 4*ChunkSize))
	}
}

// Ref appends p to the queue without copying it, unless it is shorter than [RefSize]. p
// must not change until it has been sent, which the queue does not report: pass only memory
// that is no longer written to.
func (q *Queue) Ref(p []byte) {
	if len(p) < RefSize {
		write(q, p)
		return
	}
	q.Keep(p)
}

// Keep is Ref whatever the length of p: for a queue that would take a chunk for a few bytes.
func (q *Queue) Keep(p []byte) {
	if len(p) == 0 {
		return
	}
	q.seal()
	q.segs = append(q.segs, segment{b: p})
	q.n += len(p)
}

// File appends n bytes of f, from offset off, to the queue. They are read when they are
// sent; done, if not nil, is called when they have been sent, or when they never will be. f
// must stay open until then. If a file turns out shorter, the transport has to handle it:
// it cannot send the announced bytes, so it closes the connection.
func (q *Queue) File(f *os.File, off, n int64, done func()) {
	if n <= 0 {
		if done != nil {
			done()
		}
		return
	}
	q.seal()
	q.segs = append(q.segs, segment{file: &fileRange{f, off, int(n), done}})
	q.n += int(n)
}

// seal makes the bytes in the open chunk a segment, so that another kind can follow; the
// rest of the chunk stays open.
func (q *Queue) seal() {
	if q.w > q.r {
		q.segs = append(q.segs, segment{b: q.open[q.r:q.w:q.w]})
		q.r = q.w
	}
}

// First returns the first run of bytes in memory, nil when the queue is empty or
// a file comes first. It is valid until the next Discard.
func (q *Queue) First() []byte {
	for i := q.head; i < len(q.segs); i++ {
		if s := &q.segs[i]; s.file != nil {
			return nil
		} else if len(s.b) > 0 {
			return s.b
		}
	}
	return q.open[q.r:q.w]
}

// Whole returns all bytes of the queue, if they were copied and are contiguous; nil
// otherwise. It is valid until the next Discard.
func (q *Queue) Whole() []byte {
	if len(q.segs) > 0 {
		return nil
	}
	return q.open[q.r:q.w]
}

// Buffers appends the next runs of bytes in memory to dst, up to its capacity,
// and returns it: none when the queue is empty or a file comes first. They are
// valid until the next Discard.
func (q *Queue) Buffers(dst [][]byte) [][]byte {
	for i := q.head; i < len(q.segs) && len(dst) < cap(dst); i++ {
		s := &q.segs[i]
		if s.file != nil {
			return dst
		}
		if len(s.b) > 0 {
			dst = append(dst, s.b)
		}
	}
	if q.w > q.r && len(dst) < cap(dst) {
		dst = append(dst, q.open[q.r:q.w])
	}
	return dst
}

// NextFile returns the next file range to be sent: n bytes of f from offset off. f is nil
// if the queue is empty or memory comes first.
func (q *Queue) NextFile() (f *os.File, off int64, n int) {
	for i := q.head; i < len(q.segs); i++ {
		s := &q.segs[i]
		if s.file != nil {
			return s.file.f, s.file.off, s.file.n
		}
		if len(s.b) > 0 {
			return nil, 0, 0
		}
	}
	return nil, 0, 0
}

// Discard drops the first n bytes, which have been sent. n must not exceed Len.
func (q *Queue) Discard(n int) {
	q.n -= n
	if q.head < len(q.segs) {
		n = q.discardSegs(n)
	}
	q.r += n
	if q.n == 0 {
		// Everything is sent: the open chunk is reused from its start.
		q.r, q.w = 0, 0
	}
}

// discardSegs drops n bytes from the segments and returns how many of them lie beyond the
// last segment.
func (q *Queue) discardSegs(n int) int {
	for q.head < len(q.segs) {
		s := &q.segs[q.head]
		switch {
		case s.file != nil && n < s.file.n:
			s.file.off += int64(n)
			s.file.n -= n
			return 0
		case s.file != nil:
			n -= s.file.n
		case n < len(s.b):
			s.b = s.b[n:]
			return 0
		default:
			n -= len(s.b)
		}
		q.finish(s)
		q.head++
	}
	q.segs, q.head = q.segs[:0], 0
	if cap(q.segs) > 256 {
		q.segs = nil
	}
	return n
}

// finish releases what a segment holds.
func (q *Queue) finish(s *segment) {
	if s.chunk != nil {
		q.drop(s.chunk)
	}
	file := s.file
	*s = segment{}
	if file != nil && file.done != nil {
		file.done()
	}
}

// Take appends everything from another queue to this one. The other one is then empty and
// holds no memory that this one uses.
func (q *Queue) Take(from *Queue) {
	if from.n == 0 {
		return
	}
	if q.n == 0 {
		*q, *from = *from, *q
		return
	}
	q.seal()
	q.segs = append(q.segs, from.segs[from.head:]...)
	clear(from.segs)
	from.segs, from.head = from.segs[:0], 0
	// Segments of from may be in its open chunk: it is moved too, as the chunk of its last
	// bytes.
	q.segs = append(q.segs, segment{b: from.open[from.r:from.w], chunk: from.open})
	q.held += from.held
	q.n += from.n
	from.open, from.r, from.w, from.n, from.held = nil, 0, 0, 0, 0
}

// Reset drops the content of the queue and keeps a chunk for later output.
func (q *Queue) Reset() { q.Discard(q.n) }

// Trim releases the memory for content if the queue is empty.
func (q *Queue) Trim() {
	if q.n == 0 && q.open != nil {
		q.drop(q.open)
		q.open, q.r, q.w = nil, 0, 0
	}
}

// Release drops the content of the queue, and all its memory.
func (q *Queue) Release() {
	q.Discard(q.n)
	if q.open != nil {
		q.drop(q.open)
		q.open = nil
	}
	q.segs = nil
}
