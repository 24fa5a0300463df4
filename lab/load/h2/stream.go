package h2

// stream is one request in flight, or a free slot: id 0.
type stream struct {
	id       uint32
	next     int32 // in the queue of streams with content to send
	queued   bool
	answered bool  // its head was received
	ended    bool  // the frame that ends the response was received, at least in part
	interim  uint8 // responses of status 1xx so far
	bodiless bool  // its response has no content, whatever content-length says
	send     int64 // send window; may be negative, section 6.9.2
	receive  int64 // receive window
	length   int64 // value of content-length, or -1
	got      int64 // content so far
	request  *Request
	sent     int64 // content of the request that was sent
}

// streams is the table of a connection's streams: slots, and an index by stream identifier.
// Identifiers grow by two, so the identifiers of concurrent requests are spread over the
// index without a hash.
type streams struct {
	slots  []stream
	free   []int32
	index  []int32 // slot+1 by identifier, open addressing; a power of two
	active int
}

// open allocates a slot for a stream.
func (t *streams) open(id uint32) int {
	if len(t.free) == 0 {
		t.grow()
	}
	slot := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	t.slots[slot] = stream{id: id, next: -1, length: -1}
	t.active++
	t.place(id, slot)
	return int(slot)
}

// grow doubles the slots, and keeps the index at most half full.
func (t *streams) grow() {
	old := len(t.slots)
	size := max(2*old, 8)
	t.slots = append(make([]stream, 0, size), t.slots...)[:size]
	for i := size - 1; i >= old; i-- {
		t.free = append(t.free, int32(i))
	}
	t.index = make([]int32, 2*size)
	for i := range t.slots[:old] {
		t.place(t.slots[i].id, int32(i))
	}
}

func (t *streams) place(id uint32, slot int32) {
	mask := uint32(len(t.index) - 1)
	i := id >> 1 & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = slot + 1
}

// find returns the slot of a stream, or -1.
func (t *streams) find(id uint32) int {
	if t.active == 0 {
		return -1
	}
	mask := uint32(len(t.index) - 1)
	for i := id >> 1 & mask; t.index[i] != 0; i = (i + 1) & mask {
		if slot := t.index[i] - 1; t.slots[slot].id == id {
			return int(slot)
		}
	}
	return -1
}

// close frees a slot. Later entries of the index are moved up, so that no probe ends early.
func (t *streams) close(slot int) {
	mask := uint32(len(t.index) - 1)
	hole := t.slots[slot].id >> 1 & mask
	for t.index[hole] != int32(slot)+1 {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := t.slots[t.index[i]-1].id >> 1 & mask
		if (i-home)&mask >= (i-hole)&mask {
			t.index[hole] = t.index[i]
			hole = i
		}
	}
	t.index[hole] = 0
	t.slots[slot].id, t.slots[slot].request = 0, nil
	t.free = append(t.free, int32(slot))
	t.active--
}

// lately remembers streams that we reset: frames of the server for them may still be in
// flight (section 5.1, "closed").
type lately struct {
	ids   []uint32 // a ring
	next  int
	until uint32 // identifiers up to this one are forgotten, and their frames accepted
}

const lateIDs = 64

func (l *lately) add(id uint32) {
	if len(l.ids) < lateIDs {
		l.ids = append(l.ids, id)
		return
	}
	l.until = max(l.until, l.ids[l.next])
	l.ids[l.next] = id
	l.next = (l.next + 1) % lateIDs
}

func (l *lately) has(id uint32) bool {
	if id <= l.until {
		return true
	}
	for _, one := range l.ids {
		if one == id {
			return true
		}
	}
	return false
}
