package perfevent

import (
	"bytes"
	"encoding/binary"
)

// Kinds of records (enum perf_event_type).
const (
	RecordLost        = 2
	RecordComm        = 3
	RecordExit        = 4
	RecordThrottle    = 5
	RecordFork        = 7
	RecordSample      = 9
	RecordMmap2       = 10
	RecordLostSamples = 13
	RecordSwitch      = 14 // a task runs again
	recordSwitchWide  = 15 // the same, of an event for a whole CPU
)

// A Record is one of the kernel's. Its slices are valid until the next reading of the ring.
type Record struct {
	Kind     uint32
	ID       uint64 // of the event that it belongs to
	PID, TID int    // of the task that ran; of the new or ended task; -1 in the idle task's
	Parent   int    // process of a new task
	Time     uint64 // nanoseconds of CLOCK_MONOTONIC
	Lost     uint64 // records that found no room

	Kernel []uint64 // stack in the kernel, innermost first
	User   []uint64 // stack in the program, innermost first
	Raw    []byte   // fields of the tracepoint
	Leaf   *Leaf

	Argument uint64 // the first register

	Exec bool   // the name is that of a new program
	Name string // of a task, or of a mapped file
	Map  Mapping
}

// A Mapping is executable memory of a process.
type Mapping struct {
	Start, Size, Offset uint64 // bytes
	Inode               uint64
}

// A Leaf is the state of the program when the record was written.
type Leaf struct {
	BP, SP, IP uint64
	Stack      []byte // from SP
}

// Marks in a stack (PERF_CONTEXT_*): they are among the highest 4095 numbers.
const (
	contextMax    = ^uint64(4095) + 1
	contextKernel = ^uint64(128) + 1
	contextUser   = ^uint64(512) + 1
)

const (
	trailer  = 24 // bytes at the end of records that are not samples: pid, tid, time, id
	maxStack = 1024
)

// cursor takes values from the start of a record.
type cursor struct {
	p   []byte
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.p)) {
		c.bad, c.p = true, nil
		return make([]byte, min(n, 8))
	}
	out := c.p[:n]
	c.p = c.p[n:]
	return out
}

func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }
func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) id() int     { return int(int32(c.u32())) }

// text takes the rest up to a zero byte.
func (c *cursor) text() string {
	if i := bytes.IndexByte(c.p, 0); i >= 0 {
		return string(c.p[:i])
	}
	return string(c.p)
}

// Parse parses a record without its header. of returns the configuration of the event with an
// id. It returns false for a record that is damaged, or that is ignored.
func Parse(kind uint32, misc uint16, body []byte, of func(id uint64) (Config, bool)) (Record, bool) {
	if kind == RecordSample {
		return sample(body, of)
	}
	if len(body) < trailer {
		return Record{}, false
	}
	end := cursor{p: body[len(body)-trailer:]}
	r := Record{Kind: kind, PID: end.id(), TID: end.id(), Time: end.u64(), ID: end.u64()}
	c := cursor{p: body[:len(body)-trailer]}
	switch kind {
	case RecordLost:
		c.u64()
		r.Lost = c.u64()
	case RecordLostSamples:
		r.Lost = c.u64()
	case RecordFork, RecordExit:
		r.PID, r.Parent, r.TID = c.id(), c.id(), c.id()
	case RecordComm:
		const execMisc = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
		r.PID, r.TID, r.Exec = c.id(), c.id(), misc&execMisc != 0
		r.Name = c.text()
	case RecordMmap2:
		r.PID, r.TID = c.id(), c.id()
		r.Map.Start, r.Map.Size, r.Map.Offset = c.u64(), c.u64(), c.u64()
		c.u64() // device
		r.Map.Inode = c.u64()
		c.take(8 + 4 + 4) // generation of the inode, protection, flags
		r.Name = c.text()
	case RecordSwitch, recordSwitchWide:
		const out = 1 << 13 // PERF_RECORD_MISC_SWITCH_OUT
		r.Kind = RecordSwitch
		return r, misc&out == 0
	case RecordThrottle:
	default:
		return Record{}, false
	}
	return r, !c.bad
}

// sample parses PERF_RECORD_SAMPLE.
func sample(body []byte, of func(id uint64) (Config, bool)) (Record, bool) {
	c := cursor{p: body}
	r := Record{Kind: RecordSample, ID: c.u64(), PID: c.id(), TID: c.id(), Time: c.u64()}
	config, ok := of(r.ID)
	if !ok || c.bad {
		return Record{}, false
	}
	if config.Stack {
		n := c.u64()
		if n > maxStack {
			return Record{}, false
		}
		r.Kernel, r.User = split(c.take(8 * n))
	}
	if config.Raw {
		r.Raw = c.take(uint64(c.u32()))
	}
	if config.Argument && c.u64() != 0 { // PERF_SAMPLE_REGS_ABI_NONE
		r.Argument = c.u64()
	}
	if config.Leaf > 0 && leafRegisters != 0 {
		r.Leaf = leaf(&c)
	}
	return r, !c.bad
}

// split separates a stack at its marks.
func split(p []byte) (kernel, user []uint64) {
	all := make([]uint64, 0, len(p)/8)
	into := &kernel
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		if v < contextMax {
			all = append(all, v)
			*into = all[len(all)-len(*into)-1:]
			continue
		}
		switch v {
		case contextKernel:
			into = &kernel
		case contextUser:
			into = &user
		default: // of a guest or a hypervisor
			into = new([]uint64)
		}
	}
	return kernel, user
}

// leaf parses the registers and the top of the stack.
func leaf(c *cursor) *Leaf {
	if c.u64() == 0 { // PERF_SAMPLE_REGS_ABI_NONE: a task of the kernel
		c.u64()
		return nil
	}
	l := &Leaf{BP: c.u64(), SP: c.u64(), IP: c.u64()}
	size := c.u64()
	if size == 0 {
		return l
	}
	l.Stack = c.take(size)
	if used := c.u64(); used < uint64(len(l.Stack)) {
		l.Stack = l.Stack[:used]
	}
	return l
}

// Clone returns a record that stays valid.
func (r Record) Clone() Record {
	r.Raw = bytes.Clone(r.Raw)
	if r.Leaf != nil {
		l := *r.Leaf
		l.Stack = bytes.Clone(l.Stack)
		r.Leaf = &l
	}
	return r
}
