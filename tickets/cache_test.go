package tickets

import (
	"bytes"
	"crypto/rand"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const aState = "a state"

// TestCacheBounds stores more than there is room for: what was used last stays.
func TestCacheBounds(t *testing.T) {
	const limit = 256 << 10
	c, now := NewCache(limit), time.Now()
	kept := c.store("a.test", []byte(aState), now)
	var tickets [][]byte
	for n := range 5000 {
		tickets = append(tickets, c.store("a.test", make([]byte, 100), now))
		if c.lookup(kept, "a.test", now) == nil {
			t.Fatalf("the session that is used most is gone after %d others", n)
		}
		if s := c.Stats(); s.Bytes > limit || s.Sessions != n+2-int(s.Evicted) || s.Stored != uint64(n+2) {
			t.Fatalf("%+v", s)
		}
	}
	found := 0
	for _, ticket := range tickets {
		if c.lookup(ticket, "a.test", now) != nil {
			found++
		}
	}
	if s := c.Stats(); found+1 != s.Sessions || s.Bytes < limit*3/4 {
		t.Errorf("%d are found, %+v", found+1, s)
	}
	if c.lookup(tickets[0], "a.test", now) != nil || c.lookup(tickets[4999], "a.test", now) == nil {
		t.Error("the first is left, or the last is not")
	}
	// One that fits into no shard is not stored, and costs no other.
	before := c.Stats()
	if ticket := c.store("a.test", make([]byte, limit/shards), now); len(ticket) != len(handle{}) || c.lookup(ticket, "a.test", now) != nil {
		t.Error("a session larger than its shard is stored")
	}
	if s := c.Stats(); s.Sessions != before.Sessions || s.Evicted != before.Evicted+1 {
		t.Errorf("%+v, before %+v", s, before)
	}
	c.Clear()
	if s := c.Stats(); s.Sessions != 0 || s.Bytes != 0 {
		t.Errorf("after Clear: %+v", s)
	}
}

// TestCacheMemory compares the bytes that the cache counts with those of the heap.
func TestCacheMemory(t *testing.T) {
	for _, size := range []int{80, 130, 1000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			const limit = 16 << 20
			heap := func() int64 {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := heap()
			c := NewCache(limit)
			state := make([]byte, size)
			for c.Stats().Evicted < 1000 {
				c.store("server.name.test", state, time.Now())
			}
			used, counted := heap()-before, c.Stats().Bytes
			if t.Logf("counted %d bytes, occupied %d", counted, used); used > counted+counted/8 {
				t.Error("the cache occupies more than it counts")
			}
			runtime.KeepAlive(c)
		})
	}
}

func TestCacheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(MinCache, Lifetime(time.Hour))
		old := c.store("a.test", []byte(aState), time.Now())
		for range 5 {
			time.Sleep(10 * time.Minute)
			if c.lookup(old, "a.test", time.Now()) == nil {
				t.Fatal("expired too early")
			}
		}
		young := c.store("a.test", []byte(aState), time.Now())
		time.Sleep(10 * time.Minute)
		// Its use does not make a session younger.
		if c.lookup(old, "a.test", time.Now()) != nil || c.lookup(young, "a.test", time.Now()) == nil {
			t.Error("the old session is found, or the young one is not")
		}
		time.Sleep(10 * time.Minute)
		if s := c.Stats(); s.Sessions != 1 || s.Evicted != 1 {
			t.Errorf("what has expired stays: %+v", s)
		}
		time.Sleep(2 * time.Hour)
		c.mu.Lock()
		timer := c.timer
		c.mu.Unlock()
		if s := c.Stats(); s.Sessions != 0 || s.Bytes != 0 || timer != nil {
			t.Errorf("the cache is empty, and has timer %v, %+v", timer, s)
		}
	})
}

// TestAddExpires: an addition removes what has expired in its shard, without the timer, and
// not more than so many at once.
func TestAddExpires(t *testing.T) {
	var s shard
	s.init(1 << 20)
	now := time.Now()
	added := byte(0)
	add := func(now time.Time) (evicted int) {
		added++
		stored, evicted := s.add(&entry{handle: handle{1: added}, until: now.Add(time.Hour)}, now)
		if !stored {
			t.Fatalf("entry %d is not stored", added)
		}
		return evicted
	}
	for range 2*sweeps + 1 {
		if n := add(now); n != 0 {
			t.Fatalf("%d evicted before the hour", n)
		}
	}
	for i, want := range []int{sweeps, sweeps, 1, 0} {
		if n := add(now.Add(time.Hour)); n != want {
			t.Errorf("addition %d after the hour evicts %d, want %d", i, n, want)
		}
	}
	if n, _ := s.size(); n != 4 {
		t.Errorf("%d sessions left, want 4", n)
	}
}

func TestCacheOnce(t *testing.T) {
	base := serverConfig(t)
	for _, once := range []bool{false, true} {
		var o []CacheOption
		if once {
			o = append(o, SingleUse())
		}
		c := NewCache(MinCache, o...)
		server, client := applied(base, c), newClient()
		connect(t, server, client)
		session, _ := client.ClientSessionCache.Get("a.test")
		for i := range 3 {
			client.ClientSessionCache.Put("a.test", session)
			if got, want := connect(t, server, client), i == 0 || !once; got != want {
				t.Errorf("once %v: use %d of a ticket resumes: %v", once, i+1, got)
			}
		}
		if !connect(t, server, client) {
			t.Errorf("once %v: the ticket of the last connection does not resume", once)
		}
		want := CacheStats{Stored: 5, Hits: 4}
		if once {
			want.Hits, want.Misses = 2, 2
		}
		s := c.Stats()
		if s.Sessions, s.Bytes = 0, 0; s != want {
			t.Errorf("once %v: %+v, want %+v", once, s, want)
		}
	}
}

// TestCacheConcurrent uses a small cache from many goroutines.
func TestCacheConcurrent(t *testing.T) {
	c := NewCache(MinCache, SingleUse())
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			state := bytes.Repeat([]byte{byte(i)}, 100)
			random := make([]byte, 16)
			for n := range 2000 {
				ticket := c.store("a.test", state, time.Now())
				if got := c.lookup(ticket, "a.test", time.Now()); got != nil && !bytes.Equal(got, state) {
					t.Error("the state of another session")
				}
				_, _ = rand.Read(random)
				if c.lookup(random, "a.test", time.Now()) != nil {
					t.Error("a ticket that was never made is found")
				}
				if c.store("a.test", state, time.Now()); n%500 == 0 {
					c.sweep()
					c.Stats()
				}
			}
		})
	}
	users.Wait()
	if s := c.Stats(); s.Bytes > MinCache || s.Stored != 32000 {
		t.Errorf("%+v", s)
	}
	c.Clear()
}

func TestCacheArguments(t *testing.T) {
	for _, make := range []func(){
		func() { NewCache(MinCache - 1) },
		func() { NewCache(MinCache, Lifetime(0)) },
		func() { NewCache(MinCache, Lifetime(25*time.Hour)) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "tickets: ") {
					t.Errorf("panics with %q", text)
				}
			}()
			make()
		}()
	}
}
