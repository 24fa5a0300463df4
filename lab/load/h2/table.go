package h2

const (
	tableSize  = 4096 // default of SETTINGS_HEADER_TABLE_SIZE, in both directions
	entryExtra = 32   // overhead in the size of an entry, RFC 7541, section 4.1

	mostEntries = 2 * tableSize / entryExtra // live and evicted
)

// entry is a field of a dynamic table.
type entry struct {
	at    uint32 // offset of its name, counted from the first byte ever inserted
	name  uint16 // lengths
	value uint16
	class class
	bad   bool // the value violates RFC 9113, section 8.2.1
}

func (e entry) size() int { return int(e.name) + int(e.value) + entryExtra }

// table is the dynamic table of the server's header blocks, RFC 7541, section 2.3.2. Names
// and values are in one arena, oldest first; both grow to at most twice the size of the
// live entries.
type table struct {
	entries []entry
	oldest  int // in entries; earlier ones are evicted
	arena   []byte
	base    uint32 // of arena[0], as entries count
	size    int
	limit   int    // chosen by the server, at most tableSize
	changes uint32 // counts every change that could give an index another meaning
}

// at returns the entry with an index from 0, the newest.
func (t *table) at(i int) (e *entry, name, value []byte) {
	e = &t.entries[len(t.entries)-1-i]
	from := e.at - t.base
	name = t.arena[from : from+uint32(e.name)]
	value = t.arena[from+uint32(e.name) : from+uint32(e.name)+uint32(e.value)]
	return e, name, value
}

func (t *table) live() int { return len(t.entries) - t.oldest }

// resize sets the limit and evicts entries that exceed it.
func (t *table) resize(limit int) {
	t.changes++
	t.limit = limit
	t.evict(limit)
}

// evict evicts the oldest entries until the rest takes at most size.
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

// insert adds a field whose text is not in the arena. A field that is larger than the table
// empties it: RFC 7541, section 4.4.
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

// compact removes evicted entries and makes room for n bytes.
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
