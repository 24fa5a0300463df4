package tickets

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxLifetime is the longest [Lifetime], and the default.
	MaxLifetime = 24 * time.Hour
	// MinCache is the smallest cache, in bytes.
	MinCache = 64 << 10

	shards = 16 // a power of two
	// extra is what an entry costs besides its state and name, in bytes: the entry of 136
	// bytes, its slot in a map that is partly empty, and what allocations are rounded up by.
	extra = 256
	// sweeps is how many expired sessions an addition removes at most, so that no handshake
	// does the work of many.
	sweeps = 16
)

// A handle is the ticket of a cached session.
type handle [16]byte

// A CacheOption changes what [NewCache] does.
type CacheOption func(*Cache)

// Lifetime sets for how long a session can be resumed: more than 0 and at most [MaxLifetime].
// [NewCache] panics otherwise.
func Lifetime(d time.Duration) CacheOption { return func(c *Cache) { c.lifetime = d } }

// SingleUse makes each ticket resume one session only. A TLS 1.3 client gets a new ticket
// with every connection, so that it resumes again, but one that opens several connections
// with one ticket resumes only the first. It is not needed against replays, because crypto/tls
// sends no early data (RFC 8446, section 8); it prevents that an observer links connections
// by their ticket. Anyone who has seen a ticket can use it up, which costs its owner a full
// handshake.
func SingleUse() CacheOption { return func(c *Cache) { c.once = true } }

// A Cache keeps sessions in the memory of this process. A ticket is a random name of one: it
// contains no state, and is worth nothing when the session is gone. All methods may be
// called by several goroutines at a time.
type Cache struct {
	lifetime time.Duration
	once     bool
	shards   [shards]shard

	mu    sync.Mutex
	timer *time.Timer // removes what has expired, while there is anything

	stored, hits, misses, evicted atomic.Uint64
}

// CacheStats are counts since the cache was made, and its present size.
type CacheStats struct {
	Stored   uint64 // sessions that were added
	Hits     uint64 // tickets whose session was found
	Misses   uint64 // tickets whose session was not found, had expired, or is of another server name
	Evicted  uint64 // sessions that were removed because of age or lack of room, or not stored because they are too large
	Sessions int    // in the cache now
	Bytes    int64  // that they occupy, with what their bookkeeping costs
}

// NewCache makes a cache that occupies at most so many bytes, at least [MinCache]: a session
// needs about 400, more if clients have certificates. NewCache panics if an argument is
// impossible.
func NewCache(maxBytes int64, o ...CacheOption) *Cache {
	c := &Cache{lifetime: MaxLifetime}
	for _, option := range o {
		option(c)
	}
	if maxBytes < MinCache {
		panic(fmt.Sprintf("tickets: cache of %d bytes: use at least %d", maxBytes, MinCache))
	}
	if c.lifetime <= 0 || c.lifetime > MaxLifetime {
		panic(fmt.Sprintf("tickets: lifetime of %v: use more than 0 and at most %v", c.lifetime, MaxLifetime))
	}
	for i := range c.shards {
		c.shards[i].init(maxBytes / shards)
	}
	return c
}

// Apply makes a configuration of a server use the cache, in the way of [Keys.Apply].
func (c *Cache) Apply(config *tls.Config) { apply(config, c.wrap, c.unwrap) }

// Clear forgets all sessions. Their clients make full handshakes the next time.
func (c *Cache) Clear() {
	for i := range c.shards {
		c.shards[i].clear()
	}
}

// Stats returns the counts, which are not of exactly the same moment.
func (c *Cache) Stats() CacheStats {
	s := CacheStats{Stored: c.stored.Load(), Hits: c.hits.Load(), Misses: c.misses.Load(), Evicted: c.evicted.Load()}
	for i := range c.shards {
		sessions, bytes := c.shards[i].size()
		s.Sessions += sessions
		s.Bytes += bytes
	}
	return s
}

// wrap stores a session. One that is too large gets a handle that leads nowhere.
func (c *Cache) wrap(cs tls.ConnectionState, ss *tls.SessionState) ([]byte, error) {
	state, err := ss.Bytes()
	if err != nil {
		return nil, err
	}
	return c.store(cs.ServerName, state, time.Now()), nil
}

func (c *Cache) store(name string, state []byte, now time.Time) []byte {
	e := &entry{state: append([]byte(nil), state...), name: name, until: now.Add(c.lifetime)}
	_, _ = rand.Read(e.handle[:]) // it never fails
	stored, evicted := c.shard(e.handle).add(e, now)
	if stored {
		c.stored.Add(1)
		c.arm()
	}
	c.evicted.Add(uint64(evicted))
	return e.handle[:]
}

// unwrap finds the session of a ticket. Without one, the handshake is a full one.
func (c *Cache) unwrap(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
	if state := c.lookup(ticket, cs.ServerName, time.Now()); state != nil {
		if ss, err := tls.ParseSessionState(state); err == nil {
			c.hits.Add(1)
			return ss, nil
		}
	}
	c.misses.Add(1)
	return nil, nil
}

func (c *Cache) lookup(ticket []byte, name string, now time.Time) []byte {
	if len(ticket) != len(handle{}) {
		return nil
	}
	h := handle(ticket)
	return c.shard(h).get(h, name, now, c.once)
}

// shard returns the part of the cache for a handle. Handles are random, so that the parts
// fill evenly.
func (c *Cache) shard(h handle) *shard { return &c.shards[h[0]%shards] }

// arm starts the timer unless it runs.
func (c *Cache) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		c.timer = time.AfterFunc(c.lifetime/8+time.Millisecond, c.sweep)
	}
}

// sweep removes what has expired, so that the secrets of a server without new clients do
// not stay in memory. The timer runs only while there are sessions: a cache that is not
// used any more is freed without a Close.
func (c *Cache) sweep() {
	c.mu.Lock()
	c.timer = nil
	c.mu.Unlock()
	left := 0
	for i := range c.shards {
		n, evicted := c.shards[i].expire(time.Now())
		left += n
		c.evicted.Add(uint64(evicted))
	}
	if left > 0 {
		c.arm()
	}
}
