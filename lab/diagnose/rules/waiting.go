package rules

import (
	"fmt"

	"github.com/redline-go/redline/lab/diagnose"
)

var waitingRules = []rule{
	{
		id: "lock-contention", level: general, find: lockContention,
		meaning:  "requests wait for a lock",
		needs:    "goroutine stacks; or off-CPU stacks with pthread_mutex_lock",
		estimate: "share of the requests' time that waits for locks, up to the limit of the CPUs, and CPU share of the locks beyond 3 %",
	},
	{
		id: "channel-contention", level: general, find: channelContention,
		meaning:  "requests wait for a channel that few goroutines serve, or for a semaphore",
		needs:    "goroutine stacks, or CPU stacks",
		estimate: "share of the requests' time that waits there, up to the limit of the CPUs, and CPU share of channels beyond 6 %",
	},
	{
		id: "blocking-file", level: specific, find: blockingFile,
		meaning:  "requests wait for files: fsync, writes, opening",
		needs:    "goroutine stacks, or times of system calls",
		estimate: "90 % of the share of the requests' time in these calls, and in locks that are held meanwhile",
	},
	{
		id: "blocking-cgo", level: specific, find: blockingCalls,
		meaning:  "requests block a thread each, in C code or in a system call",
		needs:    "goroutine stacks, or times of system calls",
		estimate: "90 % of the share of the requests' time in these calls, up to the limit of the CPUs, and CPU share of handing over between threads beyond 5 %",
	},
	{
		id: "sync-logging", level: specific, find: syncLogging,
		meaning:  "requests format and write log lines, one system call each, or wait for the logger's lock",
		needs:    "CPU stacks and goroutine stacks; nginx: rates of system calls",
		estimate: "CPU share of logging beyond 4 %, and share of the requests' time in it",
	},
}

// leastWait is the share of the requests' time from which a wait is a finding.
const leastWait = 0.08

// locked reports whether a goroutine waits for a lock of package sync.
func locked(s *stack) bool {
	if waitsFor(s, "sync.Mutex.Lock", "sync.RWMutex.RLock", "sync.RWMutex.Lock") {
		return true
	}
	return waitsFor(s, "semacquire") && s.Has(called("sync.(*Mutex).*", "sync.(*RWMutex).*", "internal/sync.(*Mutex).*"))
}

var (
	lockWork = called("sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).unlockSlow", "internal/sync.(*Mutex).unlockSlow", "sync.runtime_doSpin", "internal/sync.runtime_doSpin", "sync.runtime_Semacquire*", "internal/sync.runtime_Semacquire*",
		"sync.runtime_Semrelease", "internal/sync.runtime_Semrelease", "runtime.semacquire1", "runtime.semrelease1", "sync.(*RWMutex).rUnlockSlow", "pthread_mutex_lock", "___pthread_mutex_lock", "__lll_lock_wait*", "native_queued_spin_lock_slowpath")
	nativeLock = called("pthread_mutex_lock", "___pthread_mutex_lock", "__pthread_mutex_lock*", "__lll_lock_wait*", "lll_lock_wait*", "__pthread_rwlock_*", "pthread_rwlock_*", "std::sys::*futex*Mutex*")
)

// healthyLocks is the CPU share of locks that is no matter.
const healthyLocks = 0.03

func lockContention(v *view) *finding {
	share, waits := v.waiting(func(s *stack) bool { return locked(s) && !inPool(s) })
	spin := v.cpu(lockWork)
	if off := v.load.OffCPU; off != nil && v.load.Wall == nil && v.load.Seconds > 0 {
		waits = off.With(nativeLock)
		share = bound(ratio(waits.Total, v.load.Seconds*known(v.load.InFlight)), 0, 1)
	}
	if share < leastWait && spin < 2*healthyLocks {
		return nil
	}
	f := &finding{waits: waits}
	f.Gain, f.Confidence = v.queueing(v.beyond(spin, healthyLocks), share), v.sureOfWaits(0.9)
	if share < leastWait {
		f.Gain = v.saving(v.beyond(spin, healthyLocks))
	}
	f.Sites = places(waits, everything)
	f.Title = fmt.Sprintf("Requests wait for a lock %s of their time", percent(share))
	f.Evidence = []string{fmt.Sprintf("On average %.3g goroutines of %.3g requests wait for a lock; locking takes %s of the CPU time.", waits.Total, v.inflight, percent(spin))}
	if len(f.Sites) > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s of them wait in %s.", percent(f.Sites[0].Share), f.Sites[0].Func))
		if text := v.holder(f.Sites[0].Func); text != "" {
			f.Evidence = append(f.Evidence, text)
		}
	}
	f.Advice = []string{
		"Hold the lock for less: do I/O, encoding and allocation before or after it.",
		"Divide what it protects: a lock for each shard or key, or a copy that is replaced as a whole (atomic.Pointer).",
		"For data that is mostly read, use sync.RWMutex or sync.Map.",
	}
	return f
}

// heldUp reports which lock waits are in a function of which other goroutines are in the given
// stacks: they hold the lock meanwhile. In a library, which has its lock to itself, that may be any of
// its functions that leads there.
func heldUp(by *stacks) func(*stack) bool {
	names := map[string]bool{}
	for i := range by.List {
		for _, f := range by.List[i].Frames {
			if userCode(f) {
				names[f.Func] = true
			}
		}
	}
	return func(s *stack) bool {
		if !locked(s) {
			return false
		}
		library := ""
		for _, f := range s.Frames {
			switch {
			case !userCode(f):
				continue
			case names[f.Func]:
				return library == "" || f.Package() == library
			case f.Kind != diagnose.Library || library != "" && f.Package() != library:
				return false
			}
			library = f.Package()
		}
		return false
	}
}

var channelWork = called("runtime.chansend", "runtime.chansend1", "runtime.chanrecv", "runtime.chanrecv1", "runtime.chanrecv2", "runtime.selectgo", "runtime.selectnbsend", "runtime.selectnbrecv", "runtime.closechan")

const (
	healthyChannels = 0.06 // CPU share of channels, of a server with a client of HTTP
	leastChannels   = 0.12
	// funnel is the number of goroutines at work for each that waits for a channel below which
	// the channel is a bottleneck: a fan-out has one or more.
	funnel = 0.5
)

// queued reports whether a goroutine waits for a channel in the server's own code.
func queued(s *stack) bool {
	return waitsFor(s, "chan send", "chan receive", "select") && diagnose.Of(diagnose.User)(waiter(s)) && !s.Has(serverIO)
}

// connectors returns the functions of the server that use connections to other servers. What
// waits there for a channel waits for an answer, or for a timer until it tries again.
func (v *view) connectors() map[string]bool {
	out := map[string]bool{}
	m := anyOf(connecting, sockets, clientWork)
	for _, list := range []*stacks{v.load.OnCPU, v.load.Wall} {
		for _, x := range list.Without(serverIO).Sites(m) {
			if userCode(x.Frame) {
				out[x.Frame.Func] = true
			}
		}
	}
	return out
}

func channelContention(v *view) *finding {
	busy := v.connectors()
	waits := v.requests.Filter(func(s *stack) bool { return queued(s) && (waitsFor(s, "chan send") || !busy[waiter(s).Func]) })
	share := ratio(waits.Total, v.inflight)
	if v.helpers.Total > funnel*waits.Total {
		share = 0 // each request has goroutines that work for it
	}
	work := v.cpu(channelWork)
	if share < leastWait && work < leastChannels {
		return nil
	}
	f := &finding{waits: waits}
	f.Title = fmt.Sprintf("Requests wait for a channel %s of their time", percent(share))
	f.Gain, f.Confidence = v.queueing(v.beyond(work, healthyChannels), share), v.sureOfWaits(0.85)
	f.Sites = places(waits, everything)
	if share < leastWait {
		f.Gain, f.Confidence = v.saving(v.beyond(work, healthyChannels)), v.sureOfCPU(0.7)
		f.Title = fmt.Sprintf("Channels take %s of the CPU time", percent(work))
		f.Sites = places(v.load.OnCPU.With(channelWork), channelWork)
	}
	f.Evidence = []string{
		fmt.Sprintf("On average %.3g goroutines of %.3g requests wait to send to a channel or to receive from one, while %.3g other goroutines work.", waits.Total, v.inflight, v.helpers.Total),
		fmt.Sprintf("Channels take %s of the CPU time.", percent(work)),
	}
	f.Advice = []string{
		"Let more goroutines serve the channel, or do the work in the request's own goroutine under a lock.",
		"Divide the work by key among several channels; send batches instead of single items.",
		"If the channel is a semaphore, raise its capacity to what the resource behind it bears.",
	}
	return f
}

var (
	loggers = in("log", "log/slog", "log/slog/...", "log/internal", "go.uber.org/zap", "go.uber.org/zap/zapcore", "go.uber.org/zap/buffer", "github.com/rs/zerolog", "github.com/rs/zerolog/log", "github.com/rs/zerolog/internal/...", "github.com/sirupsen/logrus",
		"github.com/go-kit/log", "github.com/go-kit/log/level", "github.com/hashicorp/go-hclog", "k8s.io/klog/v2", "github.com/golang/glog", "github.com/charmbracelet/log", "github.com/phuslu/log", "github.com/apex/log", "gopkg.in/natefinch/lumberjack", "gopkg.in/natefinch/lumberjack.v2")
	printing = called("fmt.Fprint*", "fmt.Print*")
	toFile   = called("os.(*File).Write*")
	accesses = called("ngx_http_log_handler", "ngx_http_log_write")
)

// isLogging reports whether a stack writes a log line, by a logging library or by printing to a
// file.
func isLogging(s *stack) bool {
	return s.Has(loggers) || s.Has(accesses) || s.Has(toFile) && s.Has(printing)
}

const (
	healthyLogging = 0.04 // CPU share of a log with a line per request, buffered
	leastLogging   = 0.08
	batchedLogging = 0.85 // share of the excess that buffering and sampling save
)

func syncLogging(v *view) *finding {
	on := v.load.OnCPU.Filter(isLogging)
	share := ratio(on.Total, total(v.load.OnCPU))
	waits, found := v.waiting(func(s *stack) bool { return isLogging(s) && (locked(s) || s.State == "syscall") })
	waits *= v.offCPU(found, isLogging)
	lines, size := 0.0, 0.0
	if v.Server.Language == "nginx" {
		lines, size = v.calls("write") // sockets are written with other calls
	}
	if share < leastLogging && waits < leastWait && lines < 0.5 {
		return nil
	}
	f := &finding{cpu: on, claims: anyOf(loggers, accesses), holds: func(s *stack) bool { return isLogging(s) }}
	f.Title = fmt.Sprintf("Logging takes %s of the CPU time and %s of the requests' time", percent(share), percent(waits))
	cost := share + v.gc*v.allocated(loggers)
	if lines >= 0.5 && share == 0 {
		cost = max(v.cpu(called("vfs_write", "ksys_write")), healthyLogging)
		f.Title = fmt.Sprintf("Each request writes %.1f log lines to a file at once", lines)
	}
	f.Gain, f.Confidence = v.queueing(v.beyond(cost, healthyLogging)*batchedLogging, waits), v.sureOfCPU(0.85)
	if waits >= dominant {
		f.Confidence = max(f.Confidence, v.sureOfWaits(0.85))
	}
	f.Evidence = []string{fmt.Sprintf("Formatting and writing log lines takes %s of the CPU time (healthy: up to %s).", percent(cost), percent(healthyLogging))}
	if waits > 0.01 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("On average %.3g goroutines wait for the logger's lock or its write.", found.Total))
	}
	if lines > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("A request makes %.1f writes of %s to files.", lines, bytesOf(size)))
	}
	f.Advice = []string{
		"Write through a buffer that a goroutine flushes (bufio.Writer, or a buffered sink of the logger; nginx: access_log ... buffer=64k flush=1s).",
		"Log less for each request: one line, a level that is on, samples of what is frequent; leave out the caller's file and line.",
		"Use a logger that encodes without reflection (slog with typed attributes, zerolog, zap).",
	}
	f.Sites = places(on, anyOf(loggers, printing))
	return f
}
