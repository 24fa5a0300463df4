package mercure

import (
	"encoding/binary"
	"errors"
	"sync"
)

// bodies are the latest updates with several topics. The hub has an event for each topic of an update: the
// first is the update itself, the others only name the body, so that it takes its memory, and its place in
// the queue of a subscriber of several of its topics, not once for each.
type bodies struct {
	most int64 // bytes

	mu          sync.RWMutex
	by          map[uint64]*body // by their numbers, first to next-1
	first, next uint64
	bytes       int64
}

type body struct {
	id      string
	private bool
	topics  []string
	text    []byte
}

const (
	bodyShare    = 4        // bodies have that part of Options.Push.MaxBytes
	bodyOverhead = 512      // bytes that a body counts for besides its texts
	copiesBytes  = 64 << 10 // copies of an update that are smaller together are no bodies
	leastHub     = 1 << 20  // MaxBytes of a hub beside which there are bodies
)

func (b *body) size() int64 {
	n := int64(bodyOverhead + len(b.text))
	for _, t := range b.topics {
		n += int64(len(t))
	}
	return n
}

// keep gives a body a number. It reports false if the update is better copied. The oldest bodies are
// dropped for it.
func (k *bodies) keep(b *body) (number uint64, ok bool) {
	size := b.size()
	if size*int64(len(b.topics)-1) <= copiesBytes || size > k.most/bodyShare {
		return 0, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.bytes += size; k.bytes > k.most; k.first++ {
		k.bytes -= k.by[k.first].size()
		delete(k.by, k.first)
	}
	number = k.next
	k.by[number], k.next = b, k.next+1
	return number, true
}

func (k *bodies) get(number uint64) *body {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.by[number]
}

func (k *bodies) size() int64 {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.bytes
}

// What the data of an event begins with: a copy of an update, or the number of its body, the place of the
// event's topic, and the ID.
const (
	copyPublic = iota
	copyPrivate
	copyNamed
)

// name returns the data of an event that names a body, under one of its topics.
func name(number uint64, at int, id string) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint([]byte{copyNamed}, number), uint64(at)), id...)
}

// errDropped: the body is not kept any more.
var errDropped = errors.New("mercure: the update is not kept any more")

// read returns the update of an event of the hub, or its ID with errDropped.
func (k *bodies) read(data []byte) (copied, error) {
	if len(data) == 0 || data[0] != copyNamed {
		return decode(data)
	}
	number, n := binary.Uvarint(data[1:])
	at, m := binary.Uvarint(data[1+max(n, 0):])
	if n <= 0 || m <= 0 {
		return copied{}, errCopy
	}
	b := k.get(number)
	switch {
	case b == nil:
		return copied{id: string(data[1+n+m:])}, errDropped
	case at >= uint64(len(b.topics)):
		return copied{}, errCopy
	}
	return copied{b.private, b.id, b.topics[:at], b.topics[at], b.topics[at+1:], b.text}, nil
}
