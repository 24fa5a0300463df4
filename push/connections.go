package push

import (
	"iter"
	"net"
	"slices"
	"strconv"
	"time"
)

// A Connection is a subscriber of this node, at one moment.
type Connection struct {
	// Member has what it listens to as Filters. Without a Registry, those are left out that others cover.
	Member
	Token       string // see Handler.Token
	Format      string // its name, as in ?format=
	Transport   string // who writes the stream: "loop" of a redline.Server, or "goroutine"
	Queued      int    // events that wait for it
	QueuedBytes int    // bytes of these events, as bounded by Options.QueueBytes
}

// Connections yields the subscribers of this node, in no order, each at most once. Those that join or leave
// while the caller looks may be left out. No lock is held meanwhile; those of the hub are taken for 256
// subscribers at a time. What is yielded belongs to the caller.
func (h *Hub) Connections() iter.Seq[Connection] {
	return func(yield func(Connection) bool) {
		var part []Connection
		for _, sh := range h.everyShard() {
			for all := sh.everybody(); len(all) > 0; {
				n := min(len(all), portion)
				part = sh.describe(part[:0], all[:n])
				all = all[n:]
				for i := range part {
					if !yield(part[i]) {
						return
					}
				}
			}
		}
	}
}

// everyShard returns the shards of now. It takes the lock.
func (h *Hub) everyShard() []*shard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.shards)
}

// portion is how many subscribers are looked at under one lock.
const portion = 256

// everybody returns the subscribers. It takes the lock.
func (sh *shard) everybody() []*subscriber {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return slices.Clone(sh.all)
}

// describe appends what there is to know of those of the subscribers that have not left. It takes the lock.
func (sh *shard) describe(dst []Connection, some []*subscriber) []Connection {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, s := range some {
		if s.at < 0 {
			continue
		}
		c := Connection{Transport: "goroutine", Format: sh.hub.encodings[s.encoding].Name()}
		c.ID, c.Since, c.Filters = sh.hub.connection(s.number), sh.hub.since(s.number), slices.Clone(*s.filters)
		if sh.loop != nil {
			c.Transport = "loop"
		}
		if a, ok := s.sink.(interface{ address() string }); ok {
			c.Address = a.address()
		}
		if s.queue != nil {
			c.Queued, c.QueuedBytes = s.queue.len(), s.queue.bytes
		}
		if r := s.rare; r != nil {
			r.describe(&c)
		}
		dst = append(dst, c)
	}
	return dst
}

func (r *rare) describe(c *Connection) {
	if r.member != nil {
		c.Member.Filters = slices.Clone(r.member.Filters)
	}
	if r.user != nil {
		c.User = r.user.name
	}
	if r.token != nil {
		c.Token = r.token.name
	}
	if r.from != "" {
		c.Address = r.from
	}
}

// perMilli is how many numbers of subscribers there are for each millisecond. Should more join, the
// numbers run ahead of the time.
const perMilli = 1 << 20

// numbered returns the number of a new subscriber, which says when it has joined: one field for both. The
// lock is held.
func (h *Hub) numbered() uint64 {
	h.number = max(h.number+1, uint64(h.now()/int64(time.Millisecond))*perMilli)
	return h.number
}

// since returns when the subscriber with a number has joined.
func (h *Hub) since(number uint64) time.Time {
	return h.born.Add(time.Duration(number/perMilli) * time.Millisecond)
}

// connection returns the ID of the subscriber with a number, among all nodes.
func (h *Hub) connection(number uint64) string {
	return h.o.Node + "-" + strconv.FormatUint(number, 36)
}

// address returns the host of the client.
func (l *looped) address() string { return hostOf(l.on.RemoteAddr()) }

// address is likewise.
func (p *plain) address() string { return hostPart(p.from) }

// hostOf returns an address without its port.
func hostOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.Zone == "" {
		return tcp.IP.String()
	}
	return hostPart(addr.String())
}

// hostPart is hostOf for the text of an address.
func hostPart(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
