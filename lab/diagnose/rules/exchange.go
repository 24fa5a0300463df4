package rules

import (
	"fmt"

	"github.com/redline-go/redline/lab/diagnose"
)

// clients matches clients of other servers that wait in a goroutine of the request for one that
// reads.
var clients = anyOf(
	called("net/http.(*persistConn).roundTrip", "net/http.(*http2ClientConn).*", "net/http.(*http2clientStream).*", "net/http.http2*transportResponseBody*", "net/http.(*bodyEOFSignal).Read", "github.com/valyala/fasthttp.(*HostClient).*", "github.com/valyala/fasthttp.(*PipelineClient).*"),
	in("golang.org/x/net/http2", "google.golang.org/grpc", "google.golang.org/grpc/internal/transport", "github.com/nats-io/nats.go", "github.com/redis/rueidis", "github.com/gocql/gocql", "github.com/segmentio/kafka-go", "github.com/twmb/franz-go/pkg/kgo", "github.com/IBM/sarama", "github.com/rabbitmq/amqp091-go", "github.com/nats-io/nats.go/jetstream"),
)

// outgoing reports whether a goroutine waits for another server's answer.
func outgoing(s *stack) bool {
	if s.Has(connecting) || s.Has(looking) || s.Has(serverIO) || inPool(s) {
		return false
	}
	if waitsFor(s, "IO wait") {
		return !s.Has(called("os.(*File).*"))
	}
	return waitsFor(s, "select", "chan receive", "timer", "sync.Cond.Wait") && clients(waiter(s))
}

// waitsOut returns the share of the requests' time that waits for other servers.
func (v *view) waitsOut() (share float64, found *stacks) {
	if share, found = v.waiting(outgoing); v.requests.Total > 0 {
		return share, found
	}
	sum := 0.0
	for _, p := range v.peers() {
		sum += v.perRequest(known(p.Waits)) * known(p.Wait.Mean)
	}
	return bound(ratio(sum, v.mean()), 0, 1), found
}

// busiest returns the peer with the most exchanges, and how many a request makes.
func (v *view) busiest() (p diagnose.Peer, each float64) {
	for _, q := range v.peers() {
		if known(q.Waits) > known(p.Waits) {
			p = q
		}
	}
	return p, v.perRequest(known(p.Waits))
}

var clientWork = anyOf(
	called("net/http.(*Client).do", "net/http.(*Client).Do", "net/http.(*Transport).roundTrip", "net/http.(*Transport).RoundTrip", "net/http.(*persistConn).*"),
	in("database/sql", "github.com/jackc/pgx/...", "github.com/lib/pq", "github.com/go-sql-driver/mysql", "github.com/redis/go-redis/...", "github.com/gomodule/redigo/redis", "go.mongodb.org/mongo-driver/...", "github.com/bradfitz/gomemcache/memcache"),
	called("google.golang.org/grpc.(*ClientConn).*", "github.com/valyala/fasthttp.(*HostClient).*", "github.com/redis/go-redis/*"),
)

// talks reports whether a CPU stack is of a client: of a known one, or of a request that uses a
// connection which is not its own.
func talks(s *stack) bool {
	return s.Has(clientWork) || s.Has(handler) && s.Has(sockets) && !s.Has(serverIO)
}

// waitsAtRest returns the share of the requests' time that waits for other servers' answers under
// the lowest load; 0: unknown.
func (v *view) waitsAtRest() float64 {
	if len(v.Loads) == 0 || v.Loads[0].Kernel == nil {
		return 0
	}
	low, sum := &v.Loads[0], 0.0
	for i := range low.Kernel.Peers {
		if p := &low.Kernel.Peers[i]; p.Protocol != "udp" {
			sum += known(low.Each(known(p.Waits)) * known(p.Wait.Mean))
		}
	}
	return bound(ratio(sum, known(low.Latency.Mean)), 0, 1)
}

// clientCost returns the CPU share of clients, with their part of collection, and the stacks.
func (v *view) clientCost() (share float64, on *stacks) {
	on = v.load.OnCPU.Filter(talks)
	return bound(ratio(on.Total, total(v.load.OnCPU))+v.gc*v.allocated(clientWork), 0, 1), on
}

// atRest returns how many exchanges a request makes with the same peer under the lowest load;
// false if there is none but the highest.
func (v *view) atRest(p *diagnose.Peer) (each float64, ok bool) {
	low := &v.Loads[0]
	if low.Name == v.load.Name || low.Kernel == nil || known(low.Rate) <= 0 {
		return 0, false
	}
	for i := range low.Kernel.Peers {
		if q := &low.Kernel.Peers[i]; q.Addr == p.Addr && q.Protocol == p.Protocol {
			return low.Each(known(q.Waits)), true
		}
	}
	return 0, true
}

// repeated reports whether the exchanges of a request with a peer grow with the load: they are
// attempts that fail when many make them. What a request needs is the same under every load. A peer
// that was not seen under the lowest load tells nothing.
func (v *view) repeated(p *diagnose.Peer) (low float64, ok bool) {
	if len(v.Loads) == 0 {
		return 0, false
	}
	low, ok = v.atRest(p)
	each := v.perRequest(known(p.Waits))
	return low, ok && low > 0 && each >= leastTries && each >= moreTries*max(low, 1)
}

const (
	manyExchanges = 5       // with one server, for a request
	smallExchange = 4 << 10 // bytes of a send; larger ones are not queries for a row
	// together is the share of the CPU time of the client that one exchange for all saves.
	together = 0.85
)

func nPlusOne(v *view) *finding {
	p, each := v.busiest()
	if each < manyExchanges || known(p.Bytes) > smallExchange {
		return nil
	}
	if _, again := v.repeated(&p); again {
		return nil // a request does not need them: see retryStorm
	}
	share, found := v.waitsOut()
	if inOrder := each * known(p.Wait.Mean); inOrder > 1.3*v.mean() && v.mean() > 0 {
		share *= v.mean() / inOrder // some of them are made at the same time
	}
	rest := 1 - 1/each
	cpu, on := v.clientCost()
	// Each exchange also puts the goroutine to sleep and wakes it up.
	cpu = min(cpu+max(v.cpu(scheduling)-healthyScheduling, 0), 1)
	f := &finding{claims: clientWork, cpu: on}
	f.blames = map[string]float64{"slow-downstream": rest}
	f.Title = fmt.Sprintf("Each request makes %.3g exchanges with %s", each, p.Addr)
	f.Gain = v.both(cpu*rest*together, share*rest)
	f.Confidence = v.sureOfWaits(0.9)
	f.Evidence = []string{
		fmt.Sprintf("%.3g exchanges a request with %s, of %s a send; each waits %s.", each, p.Addr, bytesOf(p.Bytes), duration(p.Wait.Mean)),
		fmt.Sprintf("Requests wait %s of their time for other servers; the client takes %s of the CPU time.", percent(share), percent(cpu)),
	}
	f.Advice = []string{
		"Ask once for all: a join or WHERE id = ANY(...) in SQL, MGET or a pipeline in Redis, a batch route of the other service.",
		"Cache what many requests ask for; make the rest of the exchanges at the same time.",
	}
	if f.Sites = places(found, everything); len(f.Sites) == 0 {
		f.Sites = places(on.With(userCode), anyOf(clientWork, sockets))
	}
	return f
}

var retriers = anyOf(
	in("github.com/cenkalti/backoff", "github.com/cenkalti/backoff/v3", "github.com/cenkalti/backoff/v4", "github.com/cenkalti/backoff/v5", "github.com/hashicorp/go-retryablehttp", "github.com/avast/retry-go", "github.com/avast/retry-go/v3", "github.com/avast/retry-go/v4", "github.com/sethvargo/go-retry", "github.com/go-resty/resty/v2", "resty.dev/v3", "github.com/eapache/go-resiliency/retrier"),
)

const (
	leastTries = 1.2 // exchanges and new connections a request from which it tries again
	moreTries  = 1.5 // times as many as under the lowest load
	leastSleep = 0.10
)

// sleeping reports whether a goroutine sleeps or waits for a timer. In clients and pools a timer
// bounds the wait for something else. A select in a library that retries is a timer, which the
// runtime of some programs does not tell.
func sleeping(s *stack) bool {
	if waitsFor(s, "timer") {
		return !outgoing(s) && !inPool(s)
	}
	return waitsFor(s, "sleep") || waitsFor(s, "select") && retriers(waiter(s))
}

// attempts are what shows that requests try again.
type attempts struct {
	sleeps  float64 // share of the requests' time between them
	found   *stacks // that sleep
	out     float64 // share of the requests' time that waits for other servers
	tries   float64 // with the same server, a request
	low     float64 // the same under the lowest load
	worst   string  // that server
	grows   bool    // with the load
	library bool    // that retries
	near    bool    // they sleep in the function that makes the calls
}

// again returns the attempts of requests; nil if they do not try again. Many exchanges and a sleep
// are none: a fan-out has the first, and the second may be anywhere.
func (v *view) again() *attempts {
	a := &attempts{}
	a.sleeps, a.found = v.waiting(func(s *stack) bool { return sleeping(s) && !s.Has(limiters) })
	worst, _ := v.busiest()
	a.worst = worst.Addr
	if a.low, a.grows = v.repeated(&worst); a.sleeps < leastSleep && !a.grows {
		return nil
	}
	var calls *stacks
	a.out, calls = v.waitsOut()
	for _, p := range v.peers() {
		a.tries = max(a.tries, v.perRequest(max(known(p.Waits), known(p.Connects))))
	}
	a.library, a.near = a.found.With(retriers).Total > 0, v.sameFunctions(a.found, calls)
	if !a.grows && !a.library && !(a.near && (a.tries >= leastTries || v.load.Kernel == nil)) {
		return nil
	}
	return a
}

func retryStorm(v *view) *finding {
	a := v.again()
	if a == nil {
		return nil
	}
	share, found, out, tries, low, grows := a.sleeps, a.found, a.out, a.tries, a.low, a.grows
	cpu, _ := v.clientCost()
	f := &finding{blames: map[string]float64{}}
	again := 0.0
	if tries > 1 {
		again = 1 - 1/tries
		f.blames["n-plus-one"] = 1
		f.blames["slow-downstream"] = again
	}
	f.Title = fmt.Sprintf("Requests sleep %s of their time between attempts", percent(share))
	if grows {
		again = 1 - max(low, 1)/tries
		f.Title = fmt.Sprintf("A request tries %.3g times with %s", tries, a.worst)
	}
	f.Gain, f.Confidence = v.both(cpu*again, share+out*again), v.sureOfWaits(0.6)
	if grows || tries >= leastTries {
		f.Confidence = v.sureOfWaits(0.9)
	}
	if tries > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("A request makes %.2g attempts with the same server.", tries))
	}
	if grows {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Under the lowest load it makes %.2g: what a request needs does not grow with the load, so they are attempts that fail.", low))
	}
	if found.Total > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("On average %.3g goroutines of %.3g requests sleep.", found.Total, v.inflight))
	}
	if k := v.load.Kernel; k != nil && known(k.Resets) > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s connections a second are reset.", perSecond(k.Resets)))
	}
	f.Advice = []string{
		"Find out why the first attempt fails: the other server's errors and limits, timeouts that are too short.",
		"Retry once at most in a request, with jitter, and only what may be repeated; stop when many fail (a circuit breaker or a budget of retries).",
		"Retry in one layer only: three layers with three attempts each make 27.",
	}
	f.Sites = places(found, everything)
	return f
}

// sameFunctions reports whether goroutines of both lists are in one function of the server's own
// code.
func (v *view) sameFunctions(a, b *stacks) bool {
	names := map[string]bool{}
	for _, s := range a.Sites(everything) {
		if userCode(s.Frame) {
			names[s.Frame.Func] = true
		}
	}
	for i := range b.List {
		for _, f := range b.List[i].Frames {
			if names[f.Func] && !handler(f) {
				return true
			}
		}
	}
	return false
}

// slowExchange is the time of an exchange, in seconds, from which a server is slow: within a
// data centre a query or a call takes a few milliseconds.
const slowExchange = 0.020

// slowLocked is that time if it was measured, and most of the requests wait for a lock meanwhile.
const slowLocked = 0.010

// usualExchange is what such an exchange takes, in seconds.
const usualExchange = 0.005

// behindLock is the factor of the confidence if requests wait for the server with a lock held: not
// to hold it helps most.
const behindLock = 0.8

func slowDownstream(v *view) *finding {
	share, found := v.waitsOut()
	held, _ := v.waiting(heldUp(found))
	if share += held; share < leastWait {
		return nil
	}
	wait, worst := share*v.mean(), ""
	most := 0.0
	for _, p := range v.peers() {
		if t := known(p.Waits) * known(p.Wait.Mean); t > most {
			most, wait, worst = t, known(p.Wait.Mean), p.Addr
		}
	}
	exchange, slow := wait, slowExchange
	if held > leastWait { // one exchange after the other: requests wait for those before them, too
		wait = max(wait, share*v.mean())
	}
	if held >= dominant && worst != "" && exchange >= slowLocked {
		slow = slowLocked
	}
	if wait <= slow {
		return nil
	}
	f := &finding{waits: found}
	f.Title = "Requests wait for a slow server"
	f.Gain, f.Confidence = v.both(0, share*(1-usualExchange/wait)), v.sureOfWaits(0.65)
	// At the knee they may wait for the CPU as well: with less load, the other server is what counts.
	f.Gain.Latency = max(f.Gain.Latency, v.waitsAtRest()*(1-usualExchange/wait))
	f.Evidence = []string{fmt.Sprintf("Requests wait %s of their time for other servers' answers, about %s.", percent(share), duration(exchange))}
	if worst != "" {
		f.Title = fmt.Sprintf("Requests wait for %s, which is slow", worst)
		f.Confidence = 0.9
		f.Evidence = []string{fmt.Sprintf("Requests wait %s of their time for other servers. An exchange with %s takes %s on average.", percent(share), worst, duration(exchange))}
	}
	if held > leastWait {
		f.Confidence *= behindLock
	}
	if held > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("That includes %s of their time in which they wait for a lock that is held meanwhile.", percent(held)))
	}
	f.Advice = []string{
		"Find out what makes the other server slow: this one only waits for it.",
		"Cache its answers, or ask before they are needed; ask several servers at the same time.",
		"Set a timeout, and answer with less when it ends.",
	}
	f.Sites = places(found, everything)
	return f
}

// Delayed acknowledgements: Linux waits 40 ms, other systems 200 ms.
const (
	ackLow, ackHigh = 0.036, 0.052
	ackOther        = 0.200
	ackOtherSpread  = 0.020
	ackStep         = 0.05 // share of the answers from which a step counts
	severalSends    = 1.5  // sends an exchange: an answer in one send never waits
)

func isAck(t float64) bool {
	return t >= ackLow && t <= ackHigh || t >= ackOther-ackOtherSpread && t <= ackOther+ackOtherSpread
}

func delayedAck(v *view) *finding {
	slept, _ := v.waiting(sleeping)
	mean := v.mean()
	if mean <= 0 || slept > leastSleep {
		return nil
	}
	f := &finding{blames: map[string]float64{"slow-downstream": 1}}
	f.Advice = []string{
		"Write each message at once: a bufio.Writer with one Flush, or net.Buffers, instead of several small writes.",
		"Do not turn TCP_NODELAY off: Go sets it, SetNoDelay(false) removes it; in C and others, set it.",
	}
	f.Title = "Small writes wait for delayed acknowledgements"
	for _, p := range v.peers() {
		sends := ratio(known(p.Sends), known(p.Waits))
		at := known(p.Wait.P50)
		if !isAck(at) {
			at = known(p.Wait.Mean)
		}
		if !isAck(at) || sends < severalSends {
			continue
		}
		share := bound(ratio(v.perRequest(known(p.Waits))*at, mean), 0, 1)
		f.Gain, f.Confidence = latency(share*0.95), 0.9
		f.Evidence = []string{fmt.Sprintf("An exchange with %s has %.2g sends, of %s each, and then waits %s: the second one waits for the acknowledgement of the first.", p.Addr, sends, bytesOf(p.Bytes), duration(at))}
		_, found := v.waitsOut()
		f.Sites = places(found, everything)
		return f
	}
	for _, s := range v.load.Latency.Steps {
		sends, size := v.sends()
		out, _ := v.waitsOut()
		if v.busy >= saturated || !isAck(s.At) || s.Share < ackStep || v.load.Kernel != nil && sends < severalSends || out > leastWait {
			continue
		}
		f.Gain, f.Confidence = latency(s.Share*s.At/mean*0.95), 0.5
		f.Evidence = []string{fmt.Sprintf("%s of the answers take about %s, and nothing in the server waits that long.", percent(s.Share), duration(s.At))}
		if sends >= severalSends {
			f.Confidence = 0.8
			f.Evidence = append(f.Evidence, fmt.Sprintf("An answer is written in %.2g sends of %s.", sends, bytesOf(size)))
		}
		return f
	}
	return nil
}
