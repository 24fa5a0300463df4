package rules

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

const io = "IO wait"

// reading is the stack of a request that reads from another server.
func reading(client ...string) []diagnose.Frame {
	return under(append([]string{"internal/poll.(*FD).Read", "net.(*netFD).Read", "net.(*conn).Read"}, client...)...)
}

var sickWaiting = []sick{
	{
		id: "lock-contention", name: "held while it waits", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).find", "main.(*shop).show")...).
				wall(1, "waiting", io, reading("main.(*shop).find", "main.(*shop).show")...)
		},
	},
	{
		id: "lock-contention", name: "held in another function", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).find", "main.(*shop).show")...).
				wall(1, "waiting", "sleep", frames("time.Sleep", "main.(*shop).refresh")...)
		},
	},
	{
		id: "lock-contention", name: "spins", low: 0.2, high: 0.6,
		make: func(p patient) patient {
			return p.busy().cpu(0.3, under("runtime.procyield", "sync.runtime_doSpin", "internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).find")...).
				wall(8, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).find")...)
		},
	},
	{
		id: "lock-contention", name: "threads of C", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			p.Server = diagnose.Server{PIDs: []int{1}, Language: "native", CPUs: 2}
			p.waits(0, "", "")
			p.knee().Wall, p.knee().Allocs, p.Rest = nil, nil, nil
			p.knee().OffCPU = &stacks{Total: 130, List: []stack{{Weight: 120, Frames: frames("futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "find")}, {Weight: 10, Frames: frames("epoll_wait")}}}
			return p
		},
	},
	{
		id: "channel-contention", name: "one worker", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "chan receive", under("runtime.chanrecv", "main.(*shop).ask", "main.(*shop).show")...).
				wall(1, "waiting", io, frames("net.(*conn).Read", "main.(*store).load", "main.(*store).run")...)
		},
	},
	{
		id: "blocking-file", name: "fsync under a lock", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*journal).add", "main.(*shop).put")...).
				wall(1.5, "syscall", "", under("syscall.Fsync", "internal/poll.(*FD).Fsync", "os.(*File).Sync", "main.(*journal).add", "main.(*shop).put")...)
		},
	},
	{
		id: "blocking-file", name: "fsync of another server under a lock", low: 0.4, high: 0.9,
		make: func(p patient) patient {
			p.waits(0, "", "")
			p.knee().Wall, p.Server.Language, p.knee().InFlight = nil, "native", 16
			return p.call("fsync", diagnose.Syscall{Rate: 1000, Seconds: 0.7}).call("futex", diagnose.Syscall{Rate: 6000, Seconds: 14.6})
		},
	},
	{
		id: "blocking-file", name: "fsync of another server", low: 0.4, high: 0.9,
		make: func(p patient) patient {
			p.waits(0, "", "")
			p.knee().Wall, p.knee().OnCPU, p.knee().Allocs = nil, nil, nil
			return p.call("fdatasync", diagnose.Syscall{Rate: 700, Seconds: 12})
		},
	},
	{
		id: "blocking-cgo", name: "C that sleeps", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "syscall", "", under("runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_render", "main.(*shop).show")...).gauge("threads", 40)
		},
	},
	{
		id: "blocking-cgo", name: "flock", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "syscall", "", under("syscall.Syscall", "syscall.Flock", "main.(*shop).lock", "main.(*shop).show")...)
		},
	},
	{
		id: "sync-logging", name: "CPU", low: 0.25, high: 0.5,
		make: func(p patient) patient {
			return p.busy().cpu(0.25, under("syscall.write", "os.(*File).Write", "log.(*Logger).output", "main.(*shop).show")...).cpu(0.2, under("encoding/json.Marshal", "github.com/sirupsen/logrus.(*JSONFormatter).Format", "main.(*shop).show")...)
		},
	},
	{
		id: "sync-logging", name: "lock", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "log.(*Logger).output", "log.(*Logger).Printf", "main.(*shop).show")...).
				wall(1, "syscall", "", under("syscall.write", "os.(*File).Write", "log.(*Logger).output", "main.(*shop).show")...)
		},
	},
}

var db = diagnose.Peer{Addr: "10.0.0.9:5432", Sends: 700, Bytes: 200, Waits: 700, Wait: diagnose.Delay{Mean: 0.002, P50: 0.002}}

var sickDownstream = []sick{
	{
		id: "pool-too-small-db", name: "database/sql", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "select", under("runtime.selectgo", "database/sql.(*DB).conn", "database/sql.(*DB).query", "main.(*shop).show")...).
				wall(1.5, "waiting", io, reading("github.com/lib/pq.(*conn).recv", "database/sql.(*DB).query", "main.(*shop).show")...).peer(db)
		},
	},
	{
		id: "pool-too-small-db", name: "pgxpool", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "select", under("golang.org/x/sync/semaphore.(*Weighted).Acquire", "github.com/jackc/puddle/v2.(*Pool[...]).acquire", "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire", "main.(*shop).show")...).peer(db)
		},
	},
	{
		id: "pool-too-small-db", name: "go-redis", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "select", under("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn", "github.com/redis/go-redis/v9.(*baseClient).getConn", "main.(*shop).show")...).peer(db)
		},
	},
	{
		id: "pool-too-small-http", name: "MaxConnsPerHost", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			return p.waits(13, "waiting", "select", under("runtime.selectgo", "net/http.(*Transport).getConn", "net/http.(*Transport).roundTrip", "net/http.(*Client).do", "main.(*shop).show")...).
				wall(2, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Transport).roundTrip", "main.(*shop).show")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 700, Bytes: 200, Waits: 700, Wait: diagnose.Delay{Mean: 0.003}})
		},
	},
	{
		id: "http-no-reuse", name: "bodies that are not read", low: 0.3, high: 0.8,
		make: func(p patient) patient {
			p.knee().Rate = 2000
			return p.busy().cpu(0.2, frames("tcp_v4_connect", "__sys_connect", "syscall.connect", "net.(*sysDialer).dialTCP", "net.(*Dialer).DialContext", "net/http.(*Transport).dialConn", "net/http.(*Transport).dialConnFor")...).
				cpu(0.15, frames("crypto/tls.(*Conn).clientHandshake", "net/http.(*Transport).dialConn")...).
				wall(8, "waiting", "select", under("net/http.(*Transport).getConn", "net/http.(*Transport).roundTrip", "main.(*shop).show")...).
				wall(8, "waiting", io, frames("internal/poll.(*FD).WaitWrite", "net.(*sysDialer).dialTCP", "net.(*Dialer).DialContext", "net/http.(*Transport).dialConn", "net/http.(*Transport).dialConnFor")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:443", Connects: 1900, Sends: 2000, Bytes: 200, Waits: 2000, Wait: diagnose.Delay{Mean: 0.002}})
		},
	},
	{
		id: "dns-per-request", name: "each dial", low: 0.4, high: 0.9, with: []string{"http-no-reuse"},
		make: func(p patient) patient {
			p.waits(10, "waiting", "select", under("net/http.(*Transport).getConn", "net/http.(*Transport).roundTrip", "main.(*shop).show")...).
				wall(9, "waiting", "select", frames("net.(*Resolver).lookupIPAddr", "net.(*Dialer).DialContext", "net/http.(*Transport).dialConn", "net/http.(*Transport).dialConnFor")...).
				wall(1, "waiting", io, frames("net.(*sysDialer).dialTCP", "net.(*Dialer).DialContext", "net/http.(*Transport).dialConn")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:80", Connects: 690, Sends: 700, Bytes: 200, Waits: 700, Wait: diagnose.Delay{Mean: 0.002}})
			p.knee().Kernel.Lookups = 1400
			return p
		},
	},
	{
		id: "n-plus-one", name: "queries for each row", low: 0.6, high: 0.99,
		make: func(p patient) patient {
			return p.waits(14, "waiting", io, reading("github.com/redis/go-redis/v9.(*Client).Process", "main.(*shop).price", "main.(*shop).show")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:6379", Sends: 20 * 700, Bytes: 60, Waits: 20 * 700, Wait: diagnose.Delay{Mean: 0.0009}})
		},
	},
	{
		id: "n-plus-one", name: "another language", low: 0.6, high: 0.99,
		make: func(p patient) patient {
			p.waits(0, "", "")
			p.Server.Language = "python"
			p.knee().Wall, p.knee().OnCPU, p.knee().Allocs = nil, nil, nil
			return p.peer(diagnose.Peer{Addr: "10.0.0.9:6379", Sends: 20 * 700, Bytes: 60, Waits: 20 * 700, Wait: diagnose.Delay{Mean: 0.0009}})
		},
	},
	{
		id: "retry-storm", name: "backoff", low: 0.5, high: 0.99,
		make: func(p patient) patient {
			return p.waits(10, "waiting", "sleep", under("time.Sleep", "main.(*client).get", "main.(*shop).show")...).
				wall(4, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*client).get", "main.(*shop).show")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 2100, Bytes: 200, Waits: 2100, Wait: diagnose.Delay{Mean: 0.002}})
		},
	},
	{
		id: "retry-storm", name: "backoff that a context ends", low: 0.5, high: 0.99,
		make: func(p patient) patient {
			return p.waits(10, "waiting", "timer", under("runtime.selectgo", "main.(*client).get", "main.(*shop).show")...).
				wall(4, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*client).get", "main.(*shop).show")...).
				peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 2100, Bytes: 200, Waits: 2100, Wait: diagnose.Delay{Mean: 0.002}})
		},
	},
	{
		id: "retry-storm", name: "at once", low: 0.6, high: 0.99,
		make: func(p patient) patient {
			p.waits(13, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*client).get", "main.(*shop).show")...)
			again := diagnose.Peer{Addr: "10.0.0.9:80", Sends: 12_000, Bytes: 200, Waits: 12_000, Wait: diagnose.Delay{Mean: 0.001}}
			once := diagnose.Peer{Addr: again.Addr, Sends: 70, Bytes: 200, Waits: 70, Wait: diagnose.Delay{Mean: 0.001}}
			return p.peer(again).below(diagnose.Load{Rate: 70, Kernel: &diagnose.Kernel{Peers: []diagnose.Peer{once}}})
		},
	},
	{
		id: "slow-downstream", name: "one exchange", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			p.waits(15, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*shop).show")...)
			p.knee().Latency.Mean = 0.12
			return p.peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 700, Bytes: 200, Waits: 700, Wait: diagnose.Delay{Mean: 0.11, P50: 0.11}})
		},
	},
	{
		id: "slow-downstream", name: "without peers", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			p.waits(15, "waiting", io, reading("github.com/go-sql-driver/mysql.(*mysqlConn).readPacket", "database/sql.(*DB).query", "main.(*shop).show")...)
			p.knee().Latency.Mean, p.knee().Kernel = 0.12, nil
			return p
		},
	},
	{
		id: "delayed-ack", name: "toward another server", low: 0.6, high: 0.99,
		make: func(p patient) patient {
			p.waits(15, "waiting", io, reading("main.(*client).ask", "main.(*shop).show")...)
			p.knee().Latency.Mean = 0.043
			return p.peer(diagnose.Peer{Addr: "10.0.0.9:7000", Sends: 1400, Bytes: 40, Waits: 700, Wait: diagnose.Delay{Mean: 0.041, P50: 0.041}})
		},
	},
	{
		id: "delayed-ack", name: "toward the client", low: 0.5, high: 0.99,
		make: func(p patient) patient {
			p.waits(0, "", "")
			p.knee().Latency.Mean, p.knee().Latency.Steps = 0.040, []diagnose.Step{{At: 0.041, Share: 0.9}}
			return p.call("write", diagnose.Syscall{Rate: 1400, Bytes: 450}).count("tcp_segments_sent", 1400)
		},
	},
}

var sickNetwork = []sick{
	{
		id: "tls-full-handshakes", name: "no tickets", low: 0.3, high: 0.5,
		make: func(p patient) patient {
			p.knee().TLS, p.knee().Connects = &diagnose.TLS{Handshakes: 0.2}, 0.2
			return p.busy().cpu(0.5, frames("crypto/internal/fips140/bigmod.addMulVVW2048", "crypto/rsa.SignPSS", "crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*Conn).handshakeContext", "net/http.(*conn).serve")...)
		},
	},
	{
		id: "keepalive-off", name: "closes", low: 0.2, high: 0.8,
		make: func(p patient) patient {
			p.knee().Connects = 1
			return p.busy().cpu(0.3, frames("inet_csk_accept", "__sys_accept4", "internal/poll.(*FD).Accept", "net.(*TCPListener).Accept", "net/http.(*Server).Serve")...).gauge("tcp_time_wait", 9000)
		},
	},
	{
		id: "keepalive-off", name: "another language", low: 0.2, high: 0.4,
		make: func(p patient) patient {
			p.knee().Connects, p.Server.Language = 1, "nginx"
			p.knee().OnCPU, p.knee().Wall = nil, nil
			return p.busy()
		},
	},
	{
		id: "small-writes", name: "flushes", low: 0.3, high: 0.8,
		make: func(p patient) patient {
			p.knee().Rate, p.knee().Answer = 2000, 6000
			return p.busy().call("write", diagnose.Syscall{Rate: 100_000, Bytes: 120}).count("tcp_segments_sent", 100_000).cpu(0.5, under("tcp_sendmsg", "syscall.write", "internal/poll.(*FD).Write", "net.(*conn).Write", "net/http.(*response).Flush", "main.(*shop).list")...)
		},
	},
	{
		id: "accept-queue", name: "overflows", low: 0.1, high: 0.9,
		make: func(p patient) patient {
			p.knee().Connects = 0.1
			return p.count("accept_drops", 3).gauge("accept_queue", 5).gauge("accept_queue_limit", 5)
		},
	},
	{
		id: "network-limit", name: "slow clients", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", io, under("internal/poll.(*FD).Write", "net.(*conn).Write", "net/http.checkConnErrorWriter.Write", "bufio.(*Writer).Write", "main.(*shop).show")...)
		},
	},
}

// A server that is asked with a lock held is named beside the lock, also if it is not very slow: all
// requests wait for it, one after the other.
func TestSlowWithLockHeld(t *testing.T) {
	for wait, want := range map[float64]bool{0.004: false, 0.011: true} {
		p := healthy().waits(13, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*rates).get", "main.(*shop).show")...).
			wall(0.4, "waiting", "select", under("net/http.(*persistConn).roundTrip", "net/http.(*Client).do", "main.(*rates).get", "main.(*shop).show")...)
		p.knee().Latency.Mean = 0.017
		p.peer(diagnose.Peer{Addr: "10.0.0.9:80", Sends: 70, Bytes: 200, Waits: 70, Wait: diagnose.Delay{Mean: wait, P50: wait}})
		causes := Find(p.Evidence)
		slow := slices.ContainsFunc(causes, func(c diagnose.Cause) bool { return c.ID == "slow-downstream" })
		if len(causes) == 0 || causes[0].ID != "lock-contention" || slow != want {
			t.Errorf("an exchange of %v s: %+v", wait, causes)
		}
	}
}

// What a thread sleeps with a lock held is the file's also if others take the CPUs, so that the
// threads wait for one and the server looks as if it computed all the time.
func TestAsleepBesideOthers(t *testing.T) {
	for slept, want := range map[float64]bool{0: false, 0.28: true} {
		p := healthy()
		k := p.knee()
		k.Wall, p.Server.Language, p.Server.CPUs, k.InFlight, k.Rate, k.Cores, k.Latency.Mean = nil, "python", 1, 16, 1257, 0.44, 0.0127
		k.CPU = k.Cores / k.Rate
		k.Generator.Foreign = 0.6
		p.count("sched_wait", 0.61).call("fsync", diagnose.Syscall{Rate: 1338, Seconds: 0.729}).call("futex", diagnose.Syscall{Rate: 5459, Seconds: 16.2})
		k.Kernel.Blocked = map[string]float64{"fsync": slept, "futex": 16}
		causes := Find(p.Evidence)
		if got := slices.ContainsFunc(causes, func(c diagnose.Cause) bool { return c.ID == "blocking-file" && c.Gain.Latency > 0.2 }); got != want {
			t.Errorf("%v s asleep: %+v", slept, causes)
		}
	}
}
