package push

// ids are the IDs that publishers gave to events which are not held any more, each with its place:
// a client that has such an ID resumes there. The oldest are forgotten first. The hub's lock guards
// it.
type ids struct {
	hub    *Hub
	places map[string]uint64
	order  []formerID
	bytes  int64 // counted in Options.MaxBytes
	most   int64 // of bytes
}

type formerID struct {
	id  string
	seq uint64
}

// idBytes is what an ID counts for besides its text: its entries in the map and the order.
const idBytes = 112

func (f *formerID) weight() int64 { return int64(idBytes + len(f.id)) }

// add remembers an ID. An empty one is none.
func (y *ids) add(id string, seq uint64) {
	if id == "" {
		return
	}
	f := formerID{id, seq}
	y.places[id] = seq
	y.order = append(y.order, f)
	y.bytes += f.weight()
	y.hub.bytes.Add(f.weight())
	for y.bytes > y.most {
		y.forgetOldest()
	}
}

// forgetOldest reports false if there was none.
func (y *ids) forgetOldest() bool {
	if len(y.order) == 0 {
		return false
	}
	f := y.order[0]
	y.order[0] = formerID{}
	if y.order = y.order[1:]; len(y.order) == 0 {
		y.order = nil
	}
	if y.places[f.id] == f.seq { // a broker may have taken the same ID again, later
		delete(y.places, f.id)
	}
	y.bytes -= f.weight()
	y.hub.bytes.Add(-f.weight())
	return true
}

// placeOf returns the place of the event that a publisher gave an ID to.
func (y *history) placeOf(id string) (seq uint64, ok bool) {
	if m := y.ids[id]; m != nil {
		return m.seq, true
	}
	seq, ok = y.former.places[id]
	return seq, ok
}
