package push

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push/format"
)

// overhead is what a message costs besides its data, in bytes: its fields, its entries in
// the history, and the heads of its encodings.
const overhead = 512

// A message is an event with its place in the order of the hub. It is shared by the history
// and all queues.
type message struct {
	event format.Event
	own   string // the ID that the publisher gave
	key   string
	seq   uint64
	at    int64 // on the hub's clock
	log   *topicLog
	local uint32 // its number in cluster.locals, if it is delivered without the broker, or was

	held   // by the history, inboxes, queues, and those who send it
	frames []atomic.Pointer[frame]

	cost cost // of the shards of net/http; each adds to it under its lock
}

// cost is what delivering a message meant, in the terms of [Receipt].
type cost struct{ delivered, queued, dropped atomic.Int32 }

// held is memory that counts for Options.MaxBytes while there are references to it. Its methods
// do nothing for nil: memory of one subscriber, which counts with it.
type held struct {
	hub  *Hub
	refs atomic.Int32
	size atomic.Int64
	of   *message // whose long frames it holds, or nil
}

func (c *held) charge(n int) {
	c.size.Add(int64(n))
	c.hub.bytes.Add(int64(n))
}

// hold adds a reference, even if there was none any more.
func (c *held) hold() {
	if c != nil && c.refs.Add(1) == 1 {
		c.hub.bytes.Add(c.size.Load())
	}
}

func (c *held) release() {
	if c != nil && c.refs.Add(-1) == 0 {
		c.hub.bytes.Add(-c.size.Load())
		if c.of != nil {
			c.of.leaveFrames()
		}
	}
}

// A frame is what is sent: a message as one format encodes it, several of them, or something
// for one subscriber alone.
type frame struct {
	native *redline.Frame
	of     *held  // what its memory counts with
	seq    uint64 // place of the message, or of the first of several
}

// bytes is the frame's own memory, which must not be changed.
func (f *frame) bytes() []byte { return f.native.BytesNoCopy() }

// frameBytes is what a frame counts for beyond its bytes, in bytes.
const frameBytes = 128

func newFrame(b []byte, of *held) *frame {
	return &frame{native: redline.NewFrame(b), of: of} // which copies b without spare capacity
}

// newMessage copies an event. It belongs to the caller, who holds one reference.
func (h *Hub) newMessage(e *Event) *message {
	m := &message{
		event:  format.Event{Topic: e.Topic, ID: e.ID, Type: e.Type, Data: bytes.Clone(e.Data)},
		own:    e.ID,
		key:    e.Key,
		at:     h.now(),
		frames: make([]atomic.Pointer[frame], len(h.encodings)),
	}
	if !e.Time.IsZero() {
		// An event of the past is as old as it is; none is younger than now.
		m.at -= max(int64(time.Since(e.Time)), 0)
	}
	m.hub, m.of = h, m
	m.refs.Store(1)
	m.charge(overhead + len(e.Data) + len(e.Topic) + len(e.ID) + len(e.Type) + len(e.Key))
	return m
}

// weight is what the message counts for in a queue's limit of bytes.
func (m *message) weight() int { return len(m.event.Data) + 64 }

// frame returns the message in one of the hub's encodings. The caller holds a reference. A long frame
// counts by itself: connections that have not sent it do not keep the message as well.
func (m *message) frame(encoding uint8) *frame {
	p := &m.frames[encoding]
	if f := p.Load(); f != nil {
		return f
	}
	f := newFrame(m.hub.encodings[encoding].AppendEvent(nil, &m.event), &m.held)
	f.seq = m.seq
	size := len(f.bytes()) + frameBytes
	if f.long() {
		f.of = &held{hub: m.hub}
		f.of.size.Store(int64(size))
		f.of.hold() // for the message
	}
	if !p.CompareAndSwap(nil, f) {
		if f.long() {
			f.of.release()
		}
		return m.frame(encoding)
	}
	if !f.long() {
		m.charge(size)
	}
	return f
}

// leaveFrames gives up the long frames of a message to which there are no references.
func (m *message) leaveFrames() {
	for i := range m.frames {
		if f := m.frames[i].Load(); f != nil && f.long() && m.frames[i].CompareAndSwap(f, nil) {
			f.of.release()
		}
	}
}

// long reports whether the frame counts while a connection has it: that takes one of any length when
// it has nothing else, and shorter ones up to the server's WriteBuffer.
func (f *frame) long() bool { return len(f.bytes()) > longFrame }

const longFrame = 64 << 10

// add takes a message with the reference of the caller, and returns its length. Of a long one it has
// the frame alone.
func (t *turn) add(m *message, encoding uint8) int {
	f := m.frame(encoding)
	t.frames = append(t.frames, f)
	if f.long() {
		f.of.hold()
		m.release()
	}
	return len(f.bytes())
}

// newEpoch is a name that no other start of a hub has.
func newEpoch() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // which never fails
	return hex.EncodeToString(b[:])
}

// era names the order that sequence numbers belong to: one start of the hub, or of its
// broker.
func (h *Hub) era() string { return *h.epoch.Load() }

// id is the position after a sequence number, in the form that clients resume from.
func (h *Hub) id(seq uint64) string {
	epoch := h.era()
	b := make([]byte, 0, len(epoch)+21)
	b = append(append(b, epoch...), '-')
	return string(strconv.AppendUint(b, seq, 10))
}

// position is the reverse of id. It reports false for IDs of publishers and other epochs.
func (h *Hub) position(id string) (uint64, bool) {
	digits, ok := strings.CutPrefix(id, h.era()+"-")
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' || digits[0] == '+' {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

// foreign reports whether an ID looks like a position of another epoch.
func (h *Hub) foreign(id string) bool {
	epoch, digits, ok := strings.Cut(id, "-")
	if !ok || epoch == h.era() || len(epoch) != len(h.era()) {
		return false
	}
	if _, err := hex.DecodeString(epoch); err != nil {
		return false
	}
	_, err := strconv.ParseUint(digits, 10, 64)
	return err == nil
}

// spread returns a random number in [0, 1), for jitter.
func spread() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// vary returns d, made up to a share shorter or longer at random.
func vary(d time.Duration, share float64) time.Duration {
	if d == never {
		return never
	}
	return d + time.Duration(float64(d)*share*(2*spread()-1))
}
