package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	headerLen = 16 // of a trace: its version

	// DefaultMemory limits what the reader holds for one generation, in bytes, as estimated.
	DefaultMemory = 768 << 20

	maxThreads  = 10_000 // of one generation; the Go runtime allows no more by default
	eventsCost  = 2      // bytes of memory for a byte of events
	tablesCost  = 16     // for a byte of strings, stacks and samples
	batchCost   = 512
	maxVarint   = 10
	noBatch     = 1 << 61 // what remains is no batch
	batchEvents = 1       // types of the format, as internal/trace/tracev2 of Go has them
	batchStacks = 2
	batchString = 4
	batchSample = 6
	batchExtra  = 49
	batchEnd    = 52
)

// errEnd is the error of a trace that ends within a batch.
var errEnd = errors.New("the trace is truncated")

// fence passes a trace on. It looks at the headers of the batches, and ends the trace with an
// error before the reader would hold more of a generation than the limit.
type fence struct {
	in      *bufio.Reader
	limit   int64
	bytes   int64 // passed on
	head    []byte
	left    uint64 // of the batch
	gen     uint64
	cost    int64
	threads map[uint64]struct{}
	cut     bool // the input ended within a batch
}

func newFence(r io.Reader, limit int64) *fence {
	return &fence{in: bufio.NewReaderSize(r, 64<<10), limit: limit, threads: map[uint64]struct{}{}}
}

// Read implements [io.Reader].
func (f *fence) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.head) == 0 && f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.head) > 0 {
		n = copy(p, f.head)
		f.head = f.head[n:]
	} else {
		n, err = f.in.Read(p[:min(uint64(len(p)), f.left)])
		f.left -= uint64(n)
		f.cut = f.cut || errors.Is(err, io.EOF) && f.left < noBatch
	}
	f.bytes += int64(n)
	return n, err
}

// next reads the header of a batch. What is no batch is passed on, for the reader to refuse.
func (f *fence) next() error {
	f.head = f.head[:0]
	if f.bytes == 0 {
		f.left = headerLen
		return nil
	}
	typ, err := f.byte()
	switch {
	case err != nil:
		return err // io.EOF is the end of a complete trace
	case typ == batchEnd:
		f.begin(0)
		return nil
	case typ == batchExtra:
		if _, err := f.byte(); err != nil {
			f.cut = true
			return errEnd
		}
	case typ != batchEvents:
		f.left = 2 * noBatch
		return nil
	}
	var fields [4]uint64 // generation, thread, time, size
	for i := range fields {
		if fields[i], err = f.varint(); err != nil {
			f.cut = true
			return errEnd
		}
	}
	if fields[0] != f.gen {
		f.begin(fields[0])
	}
	f.left = fields[3]
	return f.count(fields[1], fields[3])
}

// begin begins a generation.
func (f *fence) begin(gen uint64) {
	f.gen, f.cost = gen, 0
	clear(f.threads)
}

// count adds a batch to the estimate.
func (f *fence) count(thread, size uint64) error {
	factor := int64(eventsCost)
	if first, err := f.in.Peek(1); err == nil && size > 0 {
		switch first[0] {
		case batchStacks, batchString, batchSample:
			factor = tablesCost
		}
	}
	// The reader refuses batches of more than 64 KiB.
	f.cost += int64(min(size, 1<<20))*factor + batchCost
	f.threads[thread] = struct{}{}
	switch {
	case f.cost > f.limit:
		return fmt.Errorf("a generation of the trace, which is a second of the program, needs more than %d MiB of memory: trace a shorter time, or raise --memory", f.limit>>20)
	case len(f.threads) > maxThreads:
		return fmt.Errorf("a generation of the trace has more than %d threads", maxThreads)
	}
	return nil
}

func (f *fence) byte() (byte, error) {
	b, err := f.in.ReadByte()
	if err == nil {
		f.head = append(f.head, b)
	}
	return b, err
}

func (f *fence) varint() (v uint64, err error) {
	for i := range maxVarint {
		b, err := f.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, nil
		}
	}
	return v, nil // the reader refuses it
}
