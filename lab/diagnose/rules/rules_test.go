package rules

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

// A case is a sick server.
type sick struct {
	id        string
	name      string
	make      func(p patient) patient
	low, high float64  // of the gain's share; 0: fatal
	with      []string // that may be found too
}

// small is the gain that a healthy server may have.
const small = 0.05

func (s sick) check(t *testing.T) {
	t.Helper()
	causes := Find(s.make(healthy()).Evidence)
	if len(causes) == 0 {
		t.Fatalf("nothing found")
	}
	first := causes[0]
	if first.ID != s.id {
		t.Fatalf("first is %s: %+v", first.ID, causes)
	}
	if share := first.Gain.Share(); s.high > 0 && !(share >= s.low && share <= s.high) || first.Gain.Fatal != (s.high == 0) {
		t.Errorf("gain %+v (share %.3f), want a share of %g to %g", first.Gain, share, s.low, s.high)
	}
	for _, c := range causes[1:] {
		if !slices.Contains(s.with, c.ID) && (c.Gain.Share() > small || c.Gain.Fatal) {
			t.Errorf("also %s: %+v", c.ID, c)
		}
	}
}

var everySick = [][]sick{sickMemory, sickCode, sickWaiting, sickDownstream, sickNetwork, sickLimits, sickLeaks}

func TestSick(t *testing.T) {
	for _, family := range everySick {
		for _, s := range family {
			t.Run(s.id+"/"+s.name, s.check)
		}
	}
}

// Each rule has a sick server.
func TestEveryRuleIsTested(t *testing.T) {
	seen := map[string]bool{}
	for _, family := range everySick {
		for _, s := range family {
			seen[s.id] = true
		}
	}
	for _, id := range ids {
		if !seen[id] {
			t.Errorf("%s has no sick server", id)
		}
	}
}

// Healthy servers, also those that only look sick.
var healthyServers = map[string]func(p patient) patient{
	"at work":   func(p patient) patient { return p },
	"saturated": func(p patient) patient { return p.busy() },
	"a fan-out that keeps its connections": func(p patient) patient {
		p.Rest.Wall = &stacks{Total: 1016, List: []stack{{Weight: 1016, State: "waiting", Wait: "select", Frames: frames("net/http.(*persistConn).readLoop")}}}
		return p.rest("goroutines", 10, 1026).rest("descriptors", 8, 40)
	},
	"counters side by side, seldom": func(p patient) patient {
		p.Server.Neighbours = []diagnose.Neighbours{{Type: "main.tallies", What: "2 atomic values, 8 bytes apart"}}
		return p.busy().cpu(0.05, under("sync/atomic.(*Uint64).Add", "main.(*shop).tally", "main.(*shop).show")...)
	},
	"counters apart": func(p patient) patient {
		return p.busy().cpu(0.2, under("sync/atomic.(*Uint64).Add", "main.(*shop).tally", "main.(*shop).show")...)
	},
	"waits a little for a database": func(p patient) patient {
		return p.waits(14, "waiting", "IO wait", under("internal/poll.(*FD).Read", "net.(*conn).Read", "github.com/jackc/pgx/v5.(*Conn).Query", "main.(*shop).show")...).
			peer(diagnose.Peer{Addr: "10.0.0.9:5432", Sends: 700, Bytes: 300, Waits: 700, Wait: diagnose.Delay{Mean: 0.018, P50: 0.018}})
	},
	"keeps connections to another server": func(p patient) patient {
		return p.rest("goroutines", 5, 41).rest("descriptors", 8, 26)
	},
	"warm caches": func(p patient) patient {
		return p.rest("heap_live_bytes", 30<<20, 44<<20).rest("rss_bytes", 40<<20, 90<<20)
	},
	"small gzip": func(p patient) patient {
		return p.cpu(0.15, under("compress/flate.(*compressor).deflate", "main.(*shop).show")...).cpu(0.14, under("compress/flate.(*compressor).findMatch", "compress/flate.(*compressor).deflate", "main.(*shop).show")...)
	},
	"lock, a little": func(p patient) patient {
		return p.wall(0.5, "waiting", "sync.Mutex.Lock", under("sync.(*Mutex).Lock", "main.(*shop).find", "main.(*shop).show")...)
	},
	"idle collector": func(p patient) patient {
		return p.cpu(0.3, frames("runtime.gcDrain", "runtime.gcDrainMarkWorkerIdle", "runtime.gcBgMarkWorker")...)
	},
	"computes": func(p patient) patient {
		return p.busy().cpu(0.5, under("main.rate", "main.(*shop).show")...)
	},
	"its backends use the CPU": func(p patient) patient {
		p.knee().Generator.Foreign, p.knee().Shared = 0.5, &diagnose.Shared{CPUs: 2, Backends: 1, Delay: 0.3}
		return p
	},
	"a generator that is not full": func(p patient) patient {
		p.knee().Generator = diagnose.Generator{CPU: 0.049, Why: "the generator itself was late"}
		return p
	},
	"static files": func(p patient) patient {
		return p.cpu(0.4, under("copy_page_to_iter", "vfs_read", "syscall.read", "os.(*File).Read", "io.Copy", "net/http.serveContent", "main.(*shop).file")...).
			wall(0.45, "syscall", "", under("syscall.read", "os.(*File).Read", "io.Copy", "net/http.serveContent", "main.(*shop).file")...)
	},
	"a heap that was filled once": func(p patient) patient {
		return p.rest("heap_live_bytes", 4<<20, 60<<20).rest("rss_bytes", 20<<20, 100<<20).again(2, 300_000, "heap_live_bytes", 20<<20)
	},
	"a heap of the load's last collection": func(p patient) patient {
		return p.rest("heap_live_bytes", 4<<20, 46<<20).rest("rss_bytes", 20<<20, 60<<20) // small after two collections: there was no second load
	},
	"a heap of the load's last collection, twice": func(p patient) patient {
		return p.rest("heap_live_bytes", 4<<20, 46<<20).rest("rss_bytes", 20<<20, 90<<20).again(1, 300_000, "heap_live_bytes", 42<<20)
	},
	"connections that stay open": func(p patient) patient {
		return p.rest("heap_live_bytes", 4<<20, 46<<20).rest("tcp_established", 1, 1001).again(2, 300_000, "heap_live_bytes", 40<<20)
	},
	"logs where lines come from": func(p patient) patient {
		return p.cpu(0.04, under("runtime.pcvalue", "runtime.tracebackPCs", "runtime.Callers", "log.(*Logger).output", "main.(*shop).show")...)
	},
	"fan-out": func(p patient) patient {
		return p.waits(14, "waiting", "sync.WaitGroup.Wait", under("sync.(*WaitGroup).Wait", "main.(*shop).show")...).
			wall(40, "waiting", "IO wait", frames("internal/poll.(*FD).Read", "net.(*conn).Read", "github.com/redis/go-redis/v9.(*Client).Process", "main.(*shop).price", "main.(*shop).show.func1")...).
			peer(diagnose.Peer{Addr: "10.0.0.9:6379", Sends: 2100, Bytes: 60, Waits: 2100, Wait: diagnose.Delay{Mean: 0.017, P50: 0.017}})
	},
	"fan-out with a pause": func(p patient) patient {
		p.knee().Answer = 200
		return p.waits(13, "waiting", "sync.WaitGroup.Wait", under("sync.(*WaitGroup).Wait", "main.(*shop).show")...).
			wall(0.4, "waiting", "sleep", under("time.Sleep", "main.(*shop).pause", "main.(*shop).show")...).
			wall(100, "waiting", "select", frames("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*shop).price", "main.(*shop).show.func1")...).
			cpu(0.3, frames("tcp_sendmsg", "syscall.write", "internal/poll.(*FD).Write", "net.(*conn).Write", "net/http.persistConnWriter.Write", "net/http.(*persistConn).writeLoop")...).
			call("write", diagnose.Syscall{Rate: 5 * 700, Bytes: 120}).count("tcp_sends", 5*700).
			peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 100, Bytes: 120, Waits: 4 * 700, Wait: diagnose.Delay{Mean: 0.017, P50: 0.017}}).
			below(diagnose.Load{Rate: 70, Kernel: &diagnose.Kernel{}}) // which did not see the server
	},
}

func TestHealthy(t *testing.T) {
	for name, make := range healthyServers {
		t.Run(name, func(t *testing.T) {
			for _, c := range Find(make(healthy()).Evidence) {
				if c.Gain.Share() > small || c.Gain.Fatal {
					t.Errorf("%s: %+v", c.ID, c)
				}
			}
		})
	}
}

// A wait for a timer is a sleep, and not one for another goroutine. In a client or a pool the
// timer bounds the wait.
func TestTimers(t *testing.T) {
	type is struct{ sleeping, queued, delegated, pooled, outgoing bool }
	for _, c := range []struct {
		wait, in string
		want     is
	}{
		{"timer", "main.(*shop).pause", is{sleeping: true}},
		{"sleep", "main.(*shop).pause", is{sleeping: true}},
		{"select", "main.(*shop).pause", is{queued: true, delegated: true}},
		{"chan receive", "main.(*shop).pause", is{queued: true, delegated: true}},
		{"timer", "golang.org/x/time/rate.(*Limiter).wait", is{sleeping: true}},
		{"timer", "github.com/cenkalti/backoff/v4.doRetryNotify[...]", is{sleeping: true}},
		{"select", "github.com/cenkalti/backoff/v4.doRetryNotify[...]", is{sleeping: true}},
		{"timer", "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn", is{pooled: true}},
		{"timer", "net/http.(*http2clientStream).writeRequest", is{outgoing: true}},
	} {
		f := under("runtime.selectgo", c.in, "main.(*shop).show")
		s := &stack{Weight: 1, State: "waiting", Wait: c.wait, Frames: f}
		if got := (is{sleeping(s), queued(s), isDelegated(s), inPool(s), outgoing(s)}); got != c.want {
			t.Errorf("%s in %s: %+v, want %+v", c.wait, c.in, got, c.want)
		}
	}
}

func TestMemoryLimitOfEnvironment(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "off": 0, "1000": 1000, "1000B": 1000, "3KiB": 3 << 10, "500MiB": 500 << 20, "2GiB": 2 << 30, "i": 0, "iB": 0, "-1": 0, "NaN": 0, "5XiB": 0} {
		v := newView(&diagnose.Evidence{Server: diagnose.Server{Settings: map[string]string{"GOMEMLIMIT": text}}})
		if got := v.goLimit(); got != want {
			t.Errorf("%q: %g, want %g", text, got, want)
		}
	}
}

// What a cause says beside its figures.
func TestWords(t *testing.T) {
	for _, c := range []struct{ id, name, want string }{
		{"json-reflection", "maps", "Encoding by reflection"},
		{"json-reflection", "decodes a constant", "Decode once"},
		{"json-reflection", "decodes a constant", "Decoding by reflection"},
		{"cpu-bound", "regular expressions of node", "% of it by regular expressions"},
		{"cpu-bound", "regular expressions of node", "A turn of the event loop computes for 490 ms"},
		{"cpu-bound", "regular expressions of node", "garbage collection 5.0 %"},
		{"lock-contention", "held while it waits", "Who holds it is probably in the same function: in main.(*shop).find, goroutines wait (IO wait) in net.(*netFD).Read meanwhile."},
		{"lock-contention", "held in another function", "Who holds it is probably in another function of the same type: in main.(*shop).refresh, goroutines wait (sleep) in main.(*shop).refresh meanwhile."},
		{"lock-contention", "spins", "goroutines compute in main.(*shop).find meanwhile"},
		{"lock-contention", "held while it sleeps", "goroutines wait (sleep) in main.(*shop).settle meanwhile"},
		{"rate-limited", "by its own code", "about 698 a second with any number"},
	} {
		found := false
		for _, family := range everySick {
			for _, s := range family {
				if s.id != c.id || s.name != c.name {
					continue
				}
				for _, cause := range Find(s.make(healthy()).Evidence) {
					text := strings.Join(append(append([]string{cause.Title}, cause.Evidence...), cause.Advice...), "\n")
					found = found || cause.ID == c.id && strings.Contains(text, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s, %s: %q is missing", c.id, c.name, c.want)
		}
	}
}

// A share of few samples is beyond a healthy one only if that is hardly chance; one of many is as it is.
func TestBeyond(t *testing.T) {
	for seconds, want := range map[float64]float64{0: 0.2, 0.2: 0, 1: 0.2, 10: 0.2} {
		v := &view{load: &diagnose.Load{OnCPU: &diagnose.Stacks{Total: seconds}}}
		if got := v.beyond(0.28, 0.1); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v s of stacks: %v, want %v", seconds, got, want)
		}
	}
}

// The CPUs that a server would use alone: what its threads wait for others is no demand of its own, but
// time that it does not have.
func TestDemand(t *testing.T) {
	for _, c := range []struct {
		name                               string
		cores, used, waited, foreign, want float64
	}{
		{"nobody else", 1, 0.4, 0.3, 0, 0.7},
		{"mostly asleep beside others", 1, 0.1, 0.3, 0.9, 0.18},
		{"never asleep beside others", 1, 0.4, 0.6, 0.6, 1},
		{"waits more than there is", 1, 0.1, 5, 0.9, 1},
		{"two CPUs, half asleep", 2, 0.3, 0.3, 0.85, 0.2},
		{"idle", 1, 0, 0, 0.9, 0},
	} {
		p := healthy().count("sched_wait", c.waited)
		p.knee().Cores, p.knee().Generator.Foreign, p.knee().Shared = c.used, c.foreign, &diagnose.Shared{CPUs: 2}
		v := &view{Evidence: p.Evidence, load: p.knee(), cores: c.cores}
		if got := v.demand(); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s: %.3f, want %v", c.name, got, c.want)
		}
	}
}
