package rules

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

var downstreamRules = []rule{
	{
		id: "pool-too-small-db", level: specific, find: poolDB,
		meaning:  "requests wait for a free connection to a database",
		needs:    "goroutine stacks",
		estimate: "share of the requests' time that waits for the pool, up to the limit of the CPUs",
	},
	{
		id: "pool-too-small-http", level: specific, find: poolHTTP,
		meaning:  "requests wait for a free connection to another HTTP server",
		needs:    "goroutine stacks",
		estimate: "share of the requests' time that waits for the pool, up to the limit of the CPUs, without connections that are being made",
	},
	{
		id: "http-no-reuse", level: broad, find: noReuse,
		meaning:  "outgoing connections are not used again",
		needs:    "counts of outgoing connections, or CPU stacks and goroutine stacks",
		estimate: "CPU share of connecting, and share of the requests' time that waits for it",
	},
	{
		id: "dns-per-request", level: specific, find: dnsPerRequest,
		meaning:  "requests look names up",
		needs:    "counts of lookups, or goroutine stacks",
		estimate: "CPU share of lookups, and share of the requests' time that waits for them",
	},
	{
		id: "n-plus-one", level: specific, find: nPlusOne,
		meaning:  "a request makes many small exchanges with the same server, such as a query for each row",
		needs:    "exchanges by peer",
		estimate: "share of the requests' time in these exchanges, and CPU share of the client, if one exchange does it all",
	},
	{
		id: "retry-storm", level: specific, find: retryStorm,
		meaning:  "requests try again and again, and sleep between",
		needs:    "goroutine stacks, exchanges by peer",
		estimate: "share of the requests' time that sleeps, and of the exchanges beyond the first",
	},
	{
		id: "slow-downstream", level: broad, find: slowDownstream,
		meaning:  "requests wait for a slow server",
		needs:    "goroutine stacks, or waits by peer",
		estimate: "share of the requests' time that waits, if exchanges of more than 20 ms took 5 ms",
	},
	{
		id: "delayed-ack", level: specific, find: delayedAck,
		meaning:  "small writes wait for delayed acknowledgements (Nagle's algorithm): steps of 40 ms",
		needs:    "waits by peer, or the distribution of latency",
		estimate: "share of the latency in these steps",
	},
}

// containing matches functions whose name begins with start and contains part.
func containing(start, part string) match {
	return func(f diagnose.Frame) bool {
		return strings.HasPrefix(f.Func, start) && strings.Contains(f.Func, part)
	}
}

// Functions in which pools wait for a free connection.
var (
	dbPools = anyOf(
		called("database/sql.(*DB).conn"),
		in("github.com/jackc/puddle", "github.com/jackc/puddle/v2"),
		containing("github.com/redis/go-redis/", "internal/pool.(*ConnPool)"), containing("github.com/go-redis/redis/", "internal/pool.(*ConnPool)"),
		called("github.com/gomodule/redigo/redis.(*Pool).waitVacantConn", "github.com/gomodule/redigo/redis.(*Pool).get*"),
		containing("go.mongodb.org/mongo-driver/", "topology.(*pool)"), containing("github.com/bradfitz/gomemcache/", "getConn"),
	)
	httpPools = called("net/http.(*Transport).getConn", "net/http.(*Transport).queueForDial", "github.com/valyala/fasthttp.(*HostClient).acquireConn", "github.com/valyala/fasthttp.(*HostClient).AcquireConn", "net/http.(*http2ClientConn).awaitOpenSlotForStreamLocked", "golang.org/x/net/http2.(*ClientConn).awaitOpenSlotForStreamLocked")
)

// pooled reports whether a goroutine waits for a pool to give it a connection: not for one to be
// made, nor for a server's answer.
func pooled(s *stack, pool match) bool {
	if !waitsFor(s, "select", "chan receive", "timer", "semacquire", "sync.Cond.Wait", "sleep", "sync.Mutex.Lock") || s.Has(connecting) && !httpPools(waiter(s)) {
		return false
	}
	return pool(waiter(s)) || s.Has(pool) && in("golang.org/x/sync/...", "context")(waiter(s))
}

func inPool(s *stack) bool { return pooled(s, dbPools) || pooled(s, httpPools) }

// leastPool is the share of the requests' time from which a pool is too small.
const leastPool = 0.10

func pool(v *view, kind string, share float64, found *stacks, advice ...string) *finding {
	if share < leastPool {
		return nil
	}
	f := &finding{waits: found}
	f.Title = fmt.Sprintf("Requests wait for a free connection %s of their time", percent(share))
	f.Gain, f.Confidence = v.queueing(0, share), v.sureOfWaits(0.95)
	f.Evidence = []string{fmt.Sprintf("On average %.3g goroutines of %.3g requests wait for the pool of %s.", found.Total, v.inflight, kind)}
	if v.busy > 0 {
		f.Evidence = append(f.Evidence, "The server uses "+v.using()+".")
	}
	f.Advice, f.Sites = advice, places(found, everything)
	return f
}

func poolDB(v *view) *finding {
	share, found := v.waiting(func(s *stack) bool { return pooled(s, dbPools) })
	return pool(v, "database connections", share, found,
		"Raise the limit of the pool (SetMaxOpenConns with SetMaxIdleConns, MaxConns, PoolSize), as far as the database bears it.",
		"Hold connections for less: close rows and end transactions before other work.",
		"Make the queries faster, or fewer: the pool serves more requests then.")
}

func poolHTTP(v *view) *finding {
	share, found := v.waiting(func(s *stack) bool { return pooled(s, httpPools) })
	making := v.load.Wall.With(connecting).Total
	share *= 1 - bound(ratio(making, found.Total), 0, 1)
	return pool(v, "HTTP connections", share, found,
		"Raise or remove MaxConnsPerHost of http.Transport (MaxConnsPerHost of fasthttp.HostClient), and set MaxIdleConnsPerHost to the same.",
		"Read bodies to the end and close them at once: a connection is free only then.")
}

var (
	connecting = called("net/http.(*Transport).dialConn", "net/http.(*Transport).dial", "net.(*Dialer).Dial*", "net.Dial*", "net.(*sysDialer).*", "crypto/tls.Dial*", "crypto/tls.(*Dialer).*", "crypto/tls.(*Conn).clientHandshake", "github.com/valyala/fasthttp.(*HostClient).dial*", "github.com/valyala/fasthttp.(*TCPDialer).Dial*", "github.com/valyala/fasthttp.(*TCPDialer).dial", "github.com/valyala/fasthttp.(*TCPDialer).tryDial", "database/sql.(*DB).openNewConnection",
		"tcp_v4_connect", "tcp_v6_connect", "__inet_stream_connect", "inet_stream_connect", "__sys_connect")
	looking = called("net.(*Resolver).*", "net.LookupHost", "net.LookupIP", "net.LookupAddr", "net.LookupSRV", "net.LookupTXT", "net.cgoLookup*", "net._C2func_getaddrinfo*", "net._C_getaddrinfo*", "net.goLookup*", "net.(*dnsClient*", "net.dnsPacketRoundTrip", "golang.org/x/net/dns/dnsmessage.*", "vendor/golang.org/x/net/dns/dnsmessage.*", "github.com/miekg/dns.*", "getaddrinfo")
)

// peers returns the servers to which the server connected, without those of names.
func (v *view) peers() []diagnose.Peer {
	if v.load.Kernel == nil {
		return nil
	}
	var list []diagnose.Peer
	for _, p := range v.load.Kernel.Peers {
		if p.Protocol != "udp" && !strings.HasSuffix(p.Addr, ":53") {
			list = append(list, p)
		}
	}
	return list
}

// perRequest returns a rate as a number per request, whether it was answered well or not.
func (v *view) perRequest(rate float64) float64 {
	return known(v.load.Each(rate)) * bound(1-known(v.load.Errors), 0, 1)
}

const (
	leastConnects   = 0.1  // connections a request from which reuse is a matter
	leastUnused     = 0.3  // connections an exchange from which they are not reused
	leastConnecting = 0.04 // CPU share of connecting that shows the same without counts
	// connectCost is the CPU share of a connection per request where stacks are missing: less
	// than was measured for servers that do little else.
	connectCost = 0.15
)

// dialing splits the share of the requests' time that waits for new connections into lookups and
// the rest. http.Transport connects in goroutines of its own, which have no frames of the server.
func (v *view) dialing() (connect, lookup float64, found *stacks) {
	direct, own := v.waiting(func(s *stack) bool { return s.Has(connecting) && !s.Has(looking) && s.State != "runnable" })
	names, others := v.waiting(func(s *stack) bool { return s.Has(looking) && s.State != "runnable" })
	byPool, queue := v.waiting(func(s *stack) bool { return pooled(s, httpPools) })
	making := v.load.Wall.Filter(func(s *stack) bool { return s.Has(connecting) && !isRequest(s) })
	byPool *= bound(ratio(making.Total, queue.Total), 0, 1)
	part := ratio(making.With(looking).Total, making.Total)
	found = &stacks{Total: own.Total + others.Total, List: append(append([]stack{}, own.List...), others.List...)}
	if byPool > 0 {
		found.Total, found.List = found.Total+queue.Total, append(found.List, queue.List...)
	}
	return bound(direct+byPool*(1-part), 0, 1), bound(names+byPool*part, 0, 1), found
}

func noReuse(v *view) *finding {
	connects, exchanges, worst := 0.0, 0.0, ""
	for _, p := range v.peers() {
		if known(p.Connects) > connects {
			connects, exchanges, worst = known(p.Connects), known(p.Waits), p.Addr
		}
	}
	each := v.perRequest(connects)
	work := called("net/http.(*Transport).dialConn*", "net/http.(*Transport).startDialConn*", "net/http.(*persistConn).close*", "net.(*Dialer).Dial*", "net.Dial*", "net.(*sysDialer).*", "crypto/tls.(*Conn).clientHandshake", "tcp_v4_connect", "inet_stream_connect", "__sys_connect", "inet_csk_get_port", "__inet_hash_connect")
	cpu := v.cpu(anyOf(work, called("net/http.(*persistConn).readLoop.func*")))
	wait, _, found := v.dialing()
	counted := each >= leastConnects && connects >= leastUnused*exchanges
	if v.load.Kernel != nil && !counted || v.load.Kernel == nil && (cpu < leastConnecting || v.cpu(connecting) == 0) && wait < leastWait {
		return nil
	}
	cost := v.cost(work)
	if counted && v.load.OnCPU == nil {
		cost = connectCost * min(each, 1)
	}
	f := &finding{claims: work}
	f.cpu = v.load.OnCPU.With(work)
	f.Title = "Outgoing connections are not used again"
	f.Gain, f.Confidence = v.both(cost, wait), v.sureOfWaits(0.6)
	if counted {
		f.Confidence = 0.95
		f.Title = fmt.Sprintf("Each request makes %.2g new connections to %s", each, worst)
		f.Evidence = append(f.Evidence, fmt.Sprintf("The server makes %s connections a second to %s for %s exchanges.", perSecond(connects), worst, perSecond(exchanges)))
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("Connecting takes %s of the CPU time and %s of the requests' time.", percent(v.cpu(connecting)), percent(wait)))
	f.Advice = []string{
		"Read response bodies to the end and close them: otherwise the connection cannot be used again.",
		"Use one http.Client for all requests, with MaxIdleConnsPerHost as high as the concurrency: the default keeps 2 (of databases: SetMaxIdleConns).",
		"Make sure that neither side sends Connection: close, and that the server's idle timeout is not shorter than the client's.",
	}
	f.Sites = places(found, everything)
	if len(f.Sites) == 0 {
		f.Sites = places(f.cpu.With(userCode), work)
	}
	return f
}

func dnsPerRequest(v *view) *finding {
	each := 0.0
	if v.load.Kernel != nil {
		each = v.perRequest(known(v.load.Kernel.Lookups))
		if v.load.Wall.Share(looking) > 0 || v.cpu(looking) > 0 {
			for _, p := range v.load.Kernel.Peers { // a resolver on another port
				if p.Protocol == "udp" {
					each = max(each, v.perRequest(known(p.Waits)))
				}
			}
		}
	}
	connect, wait, found := v.dialing()
	cost := v.cost(looking)
	if each < leastConnects && wait < leastWait/2 {
		return nil
	}
	f := &finding{claims: looking, cpu: v.load.OnCPU.With(looking)}
	f.blames = map[string]float64{"http-no-reuse": ratio(wait, wait+connect) / 2}
	f.Title = fmt.Sprintf("Requests look names up, %s of their time", percent(wait))
	f.Gain, f.Confidence = v.both(cost, wait), 0.9
	f.Evidence = []string{fmt.Sprintf("A request makes %.2g lookups of names; they take %s of its time and %s of the CPU time.", each, percent(wait), percent(cost))}
	if each == 0 {
		f.Confidence = 0.75
		f.Evidence = []string{fmt.Sprintf("Lookups of names take %s of the requests' time and %s of the CPU time.", percent(wait), percent(cost))}
	}
	if f.Gain.Share() < 0.05 && each >= 0.5 {
		f.Gain.Latency = 0.05 // one exchange with another server for each request, at least
	}
	f.Advice = []string{
		"Keep connections open: then names are looked up only when one is made.",
		"Cache answers for their time to live, in the process or in a resolver on the machine.",
		"End absolute names with a dot, or set ndots:1, so that search domains are not tried first.",
	}
	f.Sites = places(found, everything)
	return f
}
