package push

import (
	"hash/maphash"
	"math"
	"math/bits"
	"net/netip"
	"sync"
	"time"
)

// A Rate bounds how often something may happen: Burst times at once, and then once each Every, which is 1us to
// an hour, or negative: no bound. A Burst of 0 is as many as Every allows in 20 seconds; at most a million.
type Rate struct {
	Every time.Duration
	Burst int
}

// finish sets what is missing, and checks the rest.
func (r *Rate) finish(name string, fallback Rate) error {
	const most = 1_000_000
	switch {
	case *r == Rate{}:
		*r = fallback
	case r.Burst == 0 && r.Every > 0:
		r.Burst = int(min(max(20*time.Second/r.Every, 1), most))
	}
	if !r.lifted() && (r.Every < time.Microsecond || r.Every > time.Hour || r.Burst < 1 || r.Burst > most) {
		return badOption(name, "is once each %v, and %d at once: use 1us to 1h and 1 to %d, or Every: -1 for no bound", r.Every, r.Burst, most)
	}
	return nil
}

// lifted reports whether there is no bound.
func (r Rate) lifted() bool { return r.Every < 0 }

// rates are token buckets for any number of clients, in memory that does not grow. A client has one cell
// in each row, which it shares with others; what it may do, the cell says of which least was taken. So a
// client is refused only if all its cells are used up. Nothing is forgotten to make room: no bucket fills
// but by time, however many addresses somebody has.
//
//	row 0   . . A . . . . .      a cell is the time at which its bucket is full again, in ns on the
//	row 1   . . . . . A B .      hub's clock (the generic cell rate algorithm). What is taken
//	row 2   B . . A . . . .      raises only cells that are below: those with a busier client are
//	row 3   . B . . A . . .      not charged twice.
type rates struct {
	mu   sync.Mutex
	seed maphash.Seed
	rows [rateRows][]int64 // nil until a client comes
	warn sync.Once
}

const (
	rateRows  = 4
	fewCells  = 1 << 12 // of a row
	mostCells = 1 << 18
)

// rateCells returns how many cells a row has, for a hub with these options: so many that a quarter of the smaller
// burst is taken of each if MaxSubscribers come at once, of a user and an address each. They take a
// sixteenth of MaxBytes at most.
func (o *Options) rateCells() int {
	least := unbounded
	for _, r := range [...]Rate{o.Connects, o.Resumptions} {
		if !r.lifted() {
			least = min(least, r.Burst)
		}
	}
	n := min(max(1<<bits.Len(uint(16*o.MaxSubscribers/least)), fewCells), mostCells)
	for int64(n*rateRows*8) > o.MaxBytes/16 {
		n /= 2
	}
	return n
}

// take takes from the bucket of a client, or returns after which time there is something in it. kind keeps
// those of different rates apart.
func (t *rates) take(now int64, kind byte, name string, r Rate) (wait time.Duration) {
	var hash maphash.Hash
	hash.SetSeed(t.seed)
	_ = hash.WriteByte(kind) // which never fails, as WriteString
	_, _ = hash.WriteString(name)
	sum := hash.Sum64()
	first, step := uint32(sum), uint32(sum>>32)|1
	var cells [rateRows]*int64
	full := int64(math.MaxInt64)
	for i := range cells {
		row := t.rows[i]
		cells[i] = &row[(first+uint32(i)*step)&uint32(len(row)-1)]
		full = min(full, *cells[i])
	}
	each := int64(r.Every)
	full = max(full, now) + each
	if wait = time.Duration(full - now - each*int64(r.Burst)); wait > 0 {
		return wait
	}
	for _, c := range cells {
		*c = max(*c, full)
	}
	return 0
}

// pace counts a connect, or refuses it because there were too many of its address or user: with the time
// to wait in the joining.
func (h *Hub) pace(j *joining) error {
	o := &h.o
	err := h.paceBy(j, 'c', errRate, o.Connects)
	if err == nil && j.lastID != "" {
		err = h.paceBy(j, 'r', errResumes, o.Resumptions)
	}
	if err != nil {
		h.limits.mu.Lock()
		defer h.limits.mu.Unlock()
		h.limits.refuse(err)
	}
	return err
}

func (h *Hub) paceBy(j *joining, kind byte, refused error, r Rate) error {
	if r.lifted() {
		return nil
	}
	address := network(j.address)
	if ip, _ := netip.ParseAddr(j.address); !j.named && inner(ip) { // an error: it is none
		address = ""
	}
	if address == "" && j.user == "" {
		return nil
	}
	t := &h.rates
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[0] == nil {
		t.seed = maphash.MakeSeed()
		n := h.o.rateCells()
		for i := range t.rows {
			t.rows[i] = make([]int64, n)
		}
		h.bytes.Add(int64(n * rateRows * 8))
	}
	now := h.now()
	if address != "" {
		if j.wait = t.take(now, kind, address, r); j.wait > 0 {
			t.warn.Do(func() {
				h.o.Logger.Warn("push: an address has come too often, and is refused for a while. If it is a proxy, set Handler.Address",
					"address", address, "why", refused)
			})
			return refused
		}
	}
	if j.user != "" {
		if j.wait = t.take(now, kind-'a'+'A', j.user, r); j.wait > 0 {
			return refused
		}
	}
	return nil
}

// inner reports whether an address is one of a network of the service's own, from which a proxy comes
// rather than a single client (RFC 1918, RFC 4193), or none.
func inner(ip netip.Addr) bool {
	ip = ip.Unmap()
	return !ip.IsValid() || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}
