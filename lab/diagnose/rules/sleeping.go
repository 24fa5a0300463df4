package rules

import (
	"fmt"

	"github.com/redline-go/redline/lab/diagnose"
)

var sleepingRules = []rule{
	{
		id: "sleeping", level: specific, find: sleeps,
		meaning:  "requests sleep, or look at intervals whether something is done",
		needs:    "goroutine stacks, or times of system calls; of Node.js, rates and latencies",
		estimate: "share of the requests' time that sleeps, up to the limit of the CPUs; a sleep with a lock held is the lock's",
	},
	{
		id: "rate-limited", level: specific, find: rateLimited,
		meaning:  "a limiter lets so many requests a second through",
		needs:    "goroutine stacks; or a rate that more connections do not raise, while requests sleep",
		estimate: "share of the requests' time that waits for the limiter, up to the limit of the CPUs",
	},
	{
		id: "disk-sync", level: specific, find: diskSync,
		meaning:  "requests wait until data is on the disk: commits of an embedded database, fsync one after the other",
		needs:    "times of fsync, fdatasync and their like",
		estimate: "share of the time in which a thread waits for the disk, up to the limit of the CPUs",
	},
}

// limiters matches what waits in libraries that limit rates.
var limiters = anyOf(
	in("golang.org/x/time/rate", "go.uber.org/ratelimit", "github.com/juju/ratelimit", "github.com/throttled/throttled/v2", "github.com/ulule/limiter/v3", "github.com/sethvargo/go-limiter", "github.com/beefsack/go-rate"),
)

// napNames are system calls that wait for a time. The Go runtime has a thread in one all the time.
var napNames = []string{"nanosleep", "clock_nanosleep"}

// dozing reports whether a goroutine sleeps, and not between the attempts of a library that retries,
// or for a logger.
func dozing(s *stack) bool { return sleeping(s) && !s.Has(retriers) && !isLogging(s) }

// limited reports whether a goroutine waits for a limiter of a library, or sleeps there.
func limited(s *stack) bool { return s.Has(limiters) && (sleeping(s) || waitsFor(s, "select")) }

// naps returns the share of the requests' time in sleeps that go through the kernel. What sleeps
// whatever the load is no request: the lowest load tells how much that is.
func (v *view) naps() float64 {
	if v.Server.Language == "go" || v.load.Kernel == nil || known(v.load.InFlight) <= 0 {
		return 0
	}
	high := seconds(v.load, napNames)
	if low := &v.Loads[0]; low.Name != v.load.Name && low.Kernel != nil && known(low.Rate) > 0 && known(low.Rate) < known(v.load.Rate) {
		least := seconds(low, napNames)
		always := (least*v.load.Rate - high*low.Rate) / (v.load.Rate - low.Rate)
		high -= bound(known(always), 0, least)
	}
	return bound(ratio(high, v.load.InFlight), 0, 1)
}

// seconds returns how long threads are in system calls, each second.
func seconds(l *diagnose.Load, names []string) (sum float64) {
	if l.Kernel == nil {
		return 0
	}
	for _, n := range names {
		sum += max(known(l.Kernel.Calls[n].Seconds), known(l.Kernel.Blocked[n]))
	}
	return sum
}

const (
	flatSpread = 0.15 // by which rates differ that are the same
	flatFrom   = 4    // connections: below, each may wait for nobody
	flatPoints = 3
)

// flat reports whether more connections do not raise the rate, although the CPUs are not full: the
// rate, from flatFrom connections on.
func (v *view) flat() (rate float64, ok bool) {
	least, most, n := 0.0, 0.0, 0
	for _, p := range v.Sweep {
		if p.Connections < flatFrom {
			continue
		}
		x := known(p.Rate)
		if n++; n == 1 {
			least = x
		}
		least, most = min(least, x), max(most, x)
	}
	return most, n >= flatPoints && least > 0 && most <= least*(1+flatSpread) && v.busy < saturated
}

// unseen returns the share of the requests' time for which Node.js runs other requests, or waits for
// nothing that the kernel sees: for its timers.
func (v *view) unseen() float64 {
	if v.Server.Language != "node" || v.load.Kernel == nil || v.busy >= dominant || v.mean() <= 0 {
		return 0
	}
	out, _ := v.waitsOut()
	files, _ := v.inCalls(syncNames)
	locks, _ := v.inCalls([]string{"futex"}) // its pool of threads
	return bound(1-v.busy-out-files-min(locks, 1), 0, 1)
}

// asleep returns the share of the requests' time that sleeps, with the stacks, and the share that waits
// for a lock which is held meanwhile. The latter is the lock's.
func (v *view) asleep() (share, held float64, found *stacks) {
	share, found = v.waiting(func(s *stack) bool { return dozing(s) && !limited(s) })
	held, _ = v.waiting(heldUp(found))
	if v.requests.Total == 0 {
		share = v.naps()
	}
	return share, held, found
}

func sleeps(v *view) *finding {
	all, held, found := v.asleep()
	sure := 0.85
	if guess := v.unseen(); all < leastWait && guess >= dominant {
		all, sure = guess, 0.5
	}
	if all < leastWait || v.again() != nil {
		return nil
	}
	if _, ok := v.flat(); ok && held < all {
		return nil // see rateLimited
	}
	f := &finding{waits: found, holds: dozing, blames: map[string]float64{"channel-contention": all, "blocking-cgo": 1}}
	f.Title = fmt.Sprintf("Requests sleep %s of their time", percent(all))
	f.Gain, f.Confidence = v.queueing(0, all), v.sureOfWaits(sure)
	f.Evidence = []string{fmt.Sprintf("On average %.3g goroutines of %.3g requests sleep, or wait for a timer. The server uses %s.", found.Total, v.inflight, v.using())}
	if v.requests.Total == 0 {
		f.Evidence = []string{fmt.Sprintf("Of %.3g requests in flight, %.3g sleep. The server uses %s.", known(v.load.InFlight), all*known(v.load.InFlight), v.using())}
	}
	if sure < 0.8 {
		f.Evidence = append(f.Evidence, "Nothing that the kernel sees explains the wait: neither other servers nor files nor the CPU. That leaves timers.")
	}
	if held > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Another %s of their time they wait for a lock that is held meanwhile.", percent(held)))
	}
	f.Advice = []string{
		"Wait for the event itself instead of for a time: a channel, a condition, a notification, a callback.",
		"Remove pauses that were added to let something settle, and never sleep with a lock held.",
		"If the pause has to be, answer first, and continue in the background.",
	}
	f.Sites = places(found, everything)
	return f
}

// anyHold joins tests of stacks.
func anyHold(list ...func(*stack) bool) func(*stack) bool {
	return func(s *stack) bool {
		for _, f := range list {
			if f(s) {
				return true
			}
		}
		return false
	}
}

func rateLimited(v *view) *finding {
	share, found := v.waiting(limited)
	rate, flat := v.flat()
	sure := 0.95
	if share < leastWait {
		if !flat || v.again() != nil {
			return nil
		}
		slept, held, stacks := v.asleep()
		if share, found, sure = slept, stacks, 0.8; held >= share && held > 0 {
			return nil // sleeps with a lock held: the lock is what limits
		}
		if guess := v.unseen(); share < leastWait && guess >= dominant {
			share, sure = guess, 0.5
		}
		if share < dominant {
			return nil
		}
	}
	f := &finding{waits: found, holds: anyHold(limited, dozing)}
	f.blames = map[string]float64{"sleeping": 1, "channel-contention": 1, "lock-contention": 0.9, "blocking-cgo": 1}
	f.Title = fmt.Sprintf("A limiter makes requests wait %s of their time", percent(share))
	f.Gain, f.Confidence = v.queueing(0, share), v.sureOfWaits(sure)
	f.Evidence = []string{fmt.Sprintf("On average %.3g requests of %.3g wait for the limiter. The server uses %s.", share*max(v.inflight, known(v.load.InFlight)), max(v.inflight, known(v.load.InFlight)), v.using())}
	if flat {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The rate is about %s a second with any number of connections from %d on, and only the latency grows.", perSecond(rate), flatFrom))
	}
	f.Advice = []string{
		"Raise the limit, or let it follow what the resource behind it bears: the server itself has CPUs to spare.",
		"Refuse what is over the limit at once (429 with Retry-After) instead of letting clients wait; limit by client, and not in all.",
	}
	f.Sites = places(found, everything)
	return f
}

// diskNames are system calls that return when data is on the disk.
var diskNames = []string{"fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"}

// embedded matches databases that run in the process of the server.
var embedded = anyOf(
	called("sqlite3*", "_sqlite3*", "pysqlite_*", "rocksdb::*", "leveldb::*", "mdb_*"),
	in("modernc.org/sqlite/...", "modernc.org/sqlite", "github.com/mattn/go-sqlite3", "go.etcd.io/bbolt", "github.com/dgraph-io/badger/...", "github.com/cockroachdb/pebble/...", "zombiezen.com/go/sqlite/..."),
)

// batched is the share of the CPU time of a database in the process that goes away when changes are
// committed at once.
const batched = 0.8

func diskSync(v *view) *finding {
	busy := seconds(v.load, diskNames)
	share, most := v.inCalls(diskNames)
	if busy < leastHeld && share < leastWait {
		return nil
	}
	cpu := v.cpu(embedded)
	database := cpu > 0 || total(v.load.OffCPU.With(embedded)) > 0 || total(v.load.Wall.With(embedded)) > 0
	if !database && blockingFile(v) != nil {
		return nil // files that the server writes itself
	}
	storing := v.load.Wall.Filter(func(s *stack) bool { return s.State == "syscall" && s.Has(anyOf(stores, embedded)) })
	f := &finding{cpu: v.load.OnCPU.With(embedded), holds: heldUp(storing), blames: map[string]float64{"blocking-file": 1, "blocking-cgo": 0.9}}
	if v.load.Wall == nil {
		f.blames["lock-contention"] = 0.9
	}
	f.Title = fmt.Sprintf("Requests wait for the disk: a thread is in %s %s of the time", most, percent(min(busy, 1)))
	// One thread waits for the disk, and the others for it.
	f.Gain, f.Confidence = v.queueing(batched*cpu, avoidable*max(share, min(busy, 1))), v.sureOfWaits(0.85)
	f.Gain = v.convoy(f.Gain, diskNames)
	f.Evidence = []string{
		fmt.Sprintf("A request makes %.2g calls that return when data is on the disk; threads are in them for %.2f s each second.", v.perRequest(rates(v.load, diskNames)), busy),
		"The server uses " + v.using() + ".",
	}
	if database {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The calls are those of a database in the server's process, which takes %s of the CPU time.", percent(cpu)))
	}
	f.Advice = []string{
		"Commit many changes at once: a transaction for a batch, or one goroutine or thread that writes for all requests.",
		"Of SQLite: PRAGMA journal_mode=WAL and synchronous=NORMAL do not wait at each commit, and lose only the last commits if the power fails.",
		"Keep the database on a disk with a write cache that survives a loss of power.",
	}
	if f.Sites = places(storing, everything); len(f.Sites) == 0 {
		f.Sites = places(v.load.OnCPU.With(embedded), embedded)
	}
	return f
}

// rates returns how often threads make system calls.
func rates(l *diagnose.Load, names []string) (sum float64) {
	for _, n := range names {
		sum += known(l.Kernel.Calls[n].Rate)
	}
	return sum
}
