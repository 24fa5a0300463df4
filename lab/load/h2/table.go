package h2

const (
	tableSize  = 4096 // SETTINGS_HEADER_TABLE_SIZE as it is by default, both ways
	entryExtra = 32   // that the size of an entry counts on top, RFC 7541, section 4.1

	mostEntries = 2 * tableSize / entryExtra // live and gone
)

// entry is a field of a dynamic table.
type entry struct {
	at    uint32 // where its name begins, counted from the first byte ever
	name  uint16 // lengths
	value uint16
	class class
	bad   bool // the value breaks RFC 9113, section 8.2.1
}

func (e entry) size() int { return int(e.name) + int(e.value) + entryExtra }

// table is the dynamic table of what the server sends, RFC 7541, section 2.3.2.
// Names and values stand in one arena, oldest first; both grow to twice what is
// live at most.
type table struct {
	entries []entry
	oldest  int // in entries; what stands before is gone
	arena   []byte
	base    uint32 // of arena[0], as entries count
	size    int
	limit   int    // that the server chose, tableSize at most
	changes uint32 // counts everything that could give an index another meaning
}

// at returns the entry of an index from 0, the youngest.
func (t *table) at(i int) (e *entry, name, value []byte) {
	e = &t.entries[len(t.entries)-1-i]
	from := e.at - t.base
	name = t.arena[from : from+uint32(e.name)]
	value = t.arena[from+uint32(e.name) : from+uint32(e.name)+uint32(e.value)]
	return e, name, value
}

func (t *table) live() int { return len(t.entries) - t.oldest }

// resize sets the limit and evicts what is beyond it.
func (t *table) resize(limit int) {
	t.changes++
	t.limit = limit
	t.evict(limit)
}

// evict drops the oldest until what is left takes at most size.
func (t *table) evict(size int) {
	for t.size > size {
		t.size -= t.entries[t.oldest].size()
		t.oldest++
	}
	if t.oldest == len(t.entries) {
		t.base += uint32(len(t.arena))
		t.entries, t.arena, t.oldest = t.entries[:0], t.arena[:0], 0
	}
}

// insert adds a field that does not stand in the arena. One that is larger than
// the table empties it: RFC 7541, section 4.4.
func (t *table) insert(name, value []byte, c class, bad bool) {
	t.changes++
	size := len(name) + len(value) + entryExtra
	if size > t.limit {
		t.evict(0)
		return
	}
	t.evict(t.limit - size)
	if len(t.arena)+len(name)+len(value) > cap(t.arena) || len(t.entries) == mostEntries {
		t.compact(len(name) + len(value))
	}
	t.entries = append(t.entries, entry{
		at: t.base + uint32(len(t.arena)), name: uint16(len(name)), value: uint16(len(value)), class: c, bad: bad,
	})
	t.arena = append(append(t.arena, name...), value...)
	t.size += size
}

// compact drops what is gone and makes room for n bytes.
func (t *table) compact(n int) {
	from := len(t.arena)
	if t.live() > 0 {
		from = int(t.entries[t.oldest].at - t.base)
	}
	live := t.arena[from:]
	if want := 2 * (len(live) + n); want > cap(t.arena) {
		t.arena = append(make([]byte, 0, max(want, 256)), live...)
	} else {
		t.arena = append(t.arena[:0], live...)
	}
	t.base += uint32(from)
	t.entries = append(t.entries[:0], t.entries[t.oldest:]...)
	t.oldest = 0
}
