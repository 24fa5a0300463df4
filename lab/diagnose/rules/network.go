package rules

import (
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/diagnose"
)

var networkRules = []rule{
	{
		id: "tls-full-handshakes", level: specific, find: tlsHandshakes,
		meaning:  "TLS sessions are not resumed: each connection makes a full handshake",
		needs:    "handshakes that the generator made, CPU stacks",
		estimate: "80 % of the CPU share of handshakes: a resumed one still agrees on keys",
	},
	{
		id: "keepalive-off", level: specific, find: keepaliveOff,
		meaning:  "the server closes connections after an answer",
		needs:    "connections that the generator made",
		estimate: "CPU share of accepting, closing and handshakes, 25 % at least for a connection per answer",
	},
	{
		id: "small-writes", level: specific, find: smallWrites,
		meaning:  "an answer is sent in many small writes",
		needs:    "rates of system calls; CPU stacks",
		estimate: "CPU share of writing to sockets, for the writes beyond the first",
	},
	{
		id: "accept-queue", level: specific, find: acceptQueue,
		meaning:  "the queue of new connections overflows: clients wait a second and try again",
		needs:    "figures of the listening sockets",
		estimate: "share of the latency that connections wait, a second for each that was dropped",
	},
	{
		id: "network-limit", level: specific, find: networkLimit,
		meaning:  "segments are lost, or clients do not read as fast as the server writes",
		needs:    "figures of the sockets, or goroutine stacks",
		estimate: "share of the requests' time that writes wait, or 200 ms for each segment sent again",
	},
}

const (
	leastHandshakes = 0.05 // handshakes an answer
	leastResumed    = 0.5  // share of the handshakes that a server resumes if it can
	resumedSaves    = 0.8
	leastTLS        = 0.05 // CPU share of handshakes
)

// shaking matches handshakes of TLS on the server's side.
var shaking = called("crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*serverHandshakeState*", "crypto/tls.(*Conn).HandshakeContext", "crypto/tls.(*Conn).handshakeContext",
	"SSL_do_handshake", "SSL_accept", "ossl_statem_accept", "state_machine", "ngx_ssl_handshake*", "EVP_DigestSign*", "RSA_sign", "rsa_ossl_*", "ECDSA_sign*", "EVP_PKEY_derive*", "tls_construct_server*", "tls_process_client*", "bn_mul_mont*", "rsaz_*", "ecp_nistz256_*", "x25519_*")

func tlsHandshakes(v *view) *finding {
	t := v.load.TLS
	if t == nil || known(t.Handshakes) < leastHandshakes || known(t.Resumed) >= leastResumed {
		return nil
	}
	share := v.cost(shaking)
	if share < leastTLS {
		return nil
	}
	f := &finding{claims: shaking, cpu: v.load.OnCPU.With(shaking)}
	f.Title = fmt.Sprintf("Full TLS handshakes take %s of the CPU time", percent(share))
	f.Gain, f.Confidence = v.saving(share*resumedSaves*(1-known(t.Resumed))), v.sureOfCPU(0.9)
	f.Evidence = []string{
		fmt.Sprintf("An answer needs %.2g handshakes; %s of them were resumed.", t.Handshakes, percent(t.Resumed)),
		fmt.Sprintf("Handshakes take %s of the CPU time.", percent(share)),
	}
	f.Advice = []string{
		"Let sessions be resumed: do not set SessionTicketsDisabled, keep one tls.Config for all connections, and share ticket keys among instances.",
		"Keep connections open: no handshake at all is cheaper still.",
		"Use an ECDSA (P-256) certificate: it signs about ten times as fast as RSA with 2,048 bits.",
	}
	return f
}

const (
	leastClosing = 0.5  // connections an answer
	closingCost  = 0.25 // CPU share of a connection for each answer, at least
)

var accepting = called("net/http.(*Server).Serve", "net.(*TCPListener).Accept*", "net/http.(*conn).close*", "net/http.(*Server).newConn", "net/http.(*conn).setState", "net.(*conn).Close", "internal/poll.(*FD).Accept", "internal/poll.(*FD).Close", "internal/poll.(*FD).destroy", "inet_csk_accept", "__sys_accept4", "tcp_close", "tcp_fin", "tcp_v4_syn_recv_sock", "tcp_conn_request", "tcp_rcv_synsent_state_process", "__x64_sys_shutdown", "inet_shutdown", "__fput", "ngx_event_accept", "ngx_close_connection", "ngx_http_close_connection", "ngx_http_init_connection", "uv__server_io", "uv_accept", "uv__stream_destroy", "__x64_sys_close", "__arm64_sys_close", "net/http.newBufioReader", "net/http.newBufioWriterSize", "runtime.newproc")

// exchanging matches what a connection does for each of its requests.
var exchanging = anyOf(handler, called("net/http.(*conn).readRequest", "net/http.(*response).finishRequest", "bufio.(*Reader).Peek", "github.com/valyala/fasthttp.(*RequestHeader).*", "github.com/valyala/fasthttp.(*Request).*", "github.com/valyala/fasthttp.writeResponse"))

func keepaliveOff(v *view) *finding {
	each := known(v.load.Connects)
	if own := v.load.Reconnect; own > 0 {
		each -= 1 / float64(own) // the generator was told to connect anew
	}
	if each < leastClosing {
		return nil
	}
	f := &finding{claims: anyOf(accepting, shaking)}
	f.cpu = v.load.OnCPU.Filter(func(s *stack) bool { return s.Has(f.claims) || s.Has(connection) && !s.Has(exchanging) })
	share := max(ratio(f.cpu.Total, total(v.load.OnCPU))+v.gc*v.allocated(f.claims), closingCost*min(each, 1))
	// New connections cost the generator more than the server.
	f.blames = map[string]float64{"ephemeral-ports": 1, "generator-limit": 1}
	f.Title = fmt.Sprintf("The server closes connections: %.2g new ones an answer", each)
	f.Gain, f.Confidence = v.saving(share), 0.9
	f.Gain.Latency = max(f.Gain.Latency, share/2) // a round trip more, beside the CPU time
	f.Evidence = []string{fmt.Sprintf("The generator keeps connections open, and had to make %.2g new ones for each answer.", each)}
	if n := v.figure("tcp_time_wait"); n > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%.0f of the server's connections are in TIME_WAIT: it closes first.", n))
	}
	if v.load.TLS != nil {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Each of them costs a TLS handshake, in all %s of the CPU time.", percent(v.cpu(shaking))))
	}
	f.Advice = []string{
		"Keep connections open: no SetKeepAlivesEnabled(false), no Connection: close in answers (nginx: keepalive_timeout above 0, keepalive_requests high).",
		"Read request bodies to the end before answering, and give answers a Content-Length or chunks: otherwise a server has to close.",
	}
	return f
}

// sends returns how many writes to sockets an answer needs, with bytes a write, without those to
// other servers; 0: unknown.
func (v *view) sends() (each, size float64) {
	if v.load.Kernel == nil {
		return 0, 0
	}
	rate, bytes := 0.0, 0.0
	for _, n := range []string{"write", "writev", "sendto", "sendmsg", "send"} {
		c := v.load.Kernel.Calls[n]
		rate, bytes = rate+known(c.Rate), bytes+known(c.Rate)*known(c.Bytes)
	}
	counted := v.rate("tcp_sends") // without files
	if counted > 0 {
		rate, bytes = counted, bytes*min(ratio(counted, rate), 1)
	}
	all := rate // with those to servers whose connections are older than the kernel's events
	for _, p := range v.load.Kernel.Peers {
		rate, bytes = rate-known(p.Sends), bytes-known(p.Sends)*known(p.Bytes)
	}
	// Log lines are written to files.
	files := total(v.load.OnCPU.With(toFile))
	if both := files + total(v.load.OnCPU.With(sockets)); both > 0 && counted == 0 {
		rate, bytes = rate*(1-files/both), bytes*(1-files/both)
	}
	if rate <= 0 {
		return 0, 0
	}
	size = max(ratio(bytes, rate), 0)
	each = known(v.load.Each(min(rate, all*(1-v.outward()))))
	// Without a count, segments bound it: the kernel joins small writes only now and then.
	if counted > 0 {
		return each, size
	}
	if segments := v.load.Each(v.rate("tcp_segments_sent")); segments > 0 {
		each = min(each, segments)
	}
	return each, size
}

// outward returns the share of the time of writing to sockets that is a client's of other servers.
func (v *view) outward() float64 {
	writes := v.load.OnCPU.With(socketWrite)
	return bound(ratio(writes.Filter(talks).Total, writes.Total), 0, 1)
}

var (
	sockets     = called("net.(*netFD).*", "net.(*conn).Read", "net.(*conn).Write", "net.(*Buffers).WriteTo")
	socketWrite = called("net.(*netFD).Write", "net.(*netFD).Writev", "net.(*conn).Write", "internal/poll.(*FD).Write", "internal/poll.(*FD).Writev", "net.(*Buffers).WriteTo", "__sys_sendto", "__sys_sendmsg", "tcp_sendmsg", "sock_write_iter", "inet_sendmsg", "net/http.(*response).Flush*", "net/http.(*http2Framer).*")
)

const (
	manySends   = 4       // writes an answer
	smallSend   = 1 << 10 // bytes of a write: less than fits into a segment
	oneSend     = 64 << 10
	mostSent    = 1.5 // bytes in all writes for each byte of an answer
	systemWrite = 0.5 // share of the kernel's time that writes take, where stacks are missing
)

func smallWrites(v *view) *finding {
	each, size := v.sends()
	sure := 0.9
	if v.load.Kernel == nil {
		if n := v.load.Each(v.rate("tcp_segments_sent")); n >= 2*manySends && known(v.load.Answer) > 0 {
			each, size, sure = n, v.load.Answer/n, 0.6 // acknowledgements and other connections count too
		}
	}
	// More bytes than the answers have are those of other connections.
	if each < manySends || size > smallSend || known(v.load.Answer) > 0 && each*size > mostSent*v.load.Answer {
		return nil
	}
	needed := max(math.Ceil(known(v.load.Answer)/oneSend), 1)
	share := v.cpu(socketWrite) * (1 - v.outward())
	if total(v.load.OnCPU) == 0 {
		share = known(v.load.System) * systemWrite
	}
	f := &finding{claims: socketWrite, cpu: v.load.OnCPU.With(socketWrite).Filter(func(s *stack) bool { return !talks(s) })}
	f.Title = fmt.Sprintf("Each answer is sent in %.3g writes of %s", each, bytesOf(size))
	f.Gain, f.Confidence = v.saving(share*max(1-needed/each, 0)), v.sureOfCPU(sure)
	f.Evidence = []string{
		fmt.Sprintf("An answer has %s, and is sent in %.3g writes of %s.", bytesOf(v.load.Answer), each, bytesOf(size)),
		fmt.Sprintf("Writing to sockets takes %s of the CPU time.", percent(share)),
	}
	f.Advice = []string{
		"Flush at the end of an answer, not after each part; write through a bufio.Writer, or build the answer in one buffer.",
		"Do not turn buffering off (in nginx: proxy_buffering on, tcp_nopush on).",
	}
	f.Sites = places(f.cpu.With(userCode), socketWrite)
	return f
}

const (
	synRetry   = 1.0 // seconds until a client sends a dropped SYN again
	fullQueue  = 0.8 // share of the backlog
	smallQueue = 128 // backlog that bursts overflow
)

// leastDrops is the number of connections dropped under a load from which that is no accident.
const leastDrops = 3

func acceptQueue(v *view) *finding {
	// Connections are made when a load begins: each of the loads may show it.
	drops, own := 0.0, false
	for i := range v.Loads {
		if n, ok := v.Loads[i].Rated("accept_drops"); ok {
			own = true
			if v.Loads[i].Watch.Totals["accept_drops"] >= leastDrops {
				drops = max(drops, known(n))
			}
		}
	}
	if !own {
		drops = max(v.rate("net_listen_overflows"), v.rate("net_listen_drops"))
	}
	limit, length := v.figure("accept_queue_limit"), v.most("accept_queue")
	full := limit > 0 && length >= fullQueue*limit
	if drops <= 0 && !full {
		return nil
	}
	f := &finding{}
	f.Title = "The accept queue overflows"
	f.Confidence = 0.95
	if !own || drops <= 0 {
		f.Confidence = 0.6
	}
	waits := ratio(v.load.Each(drops)*synRetry, max(v.mean(), 1e-6))
	late := 0.0
	for _, s := range v.load.Latency.Steps {
		if s.At > 0.9 && s.At < 1.3 || s.At > 2.7 && s.At < 3.5 || s.At > 6.5 && s.At < 7.5 {
			late += s.Share * s.At
		}
	}
	share := max(waits, ratio(late, v.mean()), known(v.load.Errors))
	if full && v.inflight > 0 { // requests that are in flight and not in the server wait in the queue, or to get there
		share = max(share, 1-ratio(v.inflight, v.load.InFlight))
	}
	f.Gain = latency(bound(share, 0, 0.9))
	f.Gain.Latency = max(f.Gain.Latency, 0.1) // clients that were dropped may have waited outside the window
	f.Evidence = []string{fmt.Sprintf("%s connections a second were dropped. The fullest queue had %.0f of %.0f places taken.", perSecond(drops), length, limit)}
	if other := v.acceptors(); len(other) > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Between two connections the goroutine that accepts waits in %s.", other[0].Func))
		f.Sites = other
	}
	if late > 0 {
		f.Evidence = append(f.Evidence, "Some answers come one, three or seven seconds late: so long clients wait before they try again.")
	}
	f.Advice = []string{}
	if limit > 0 && limit < smallQueue {
		f.Advice = append(f.Advice, fmt.Sprintf("Raise the backlog of listen(2): it is %.0f. Go takes net.core.somaxconn; others have an option (nginx: listen ... backlog=4096).", limit))
	} else {
		f.Advice = append(f.Advice, "Raise net.core.somaxconn and the backlog of listen(2).")
	}
	f.Advice = append(f.Advice, "Accept in a loop that does nothing else, and in several processes or listeners (SO_REUSEPORT) if one is not enough.", "Keep connections open, so that fewer are made.")
	return f
}

// acceptors returns where the goroutines that accept connections do other things.
func (v *view) acceptors() []diagnose.Place {
	return places(v.load.Wall.Filter(func(s *stack) bool {
		return s.Has(called("net/http.(*Server).Serve")) && !s.Has(called("net/http.(*conn).serve", "net.(*TCPListener).Accept", "internal/poll.(*FD).Accept")) && s.Has(called("net/http.(*onceCloseListener).Accept"))
	}), everything)
}

const (
	leastRetransmits = 0.005 // share of the segments
	retransmitWait   = 0.2   // seconds: the least time until Linux sends a segment again
	leastBlocked     = 0.25  // share of the requests' time in writes to clients
)

func networkLimit(v *view) *finding {
	again, sent := v.rate("tcp_retransmits"), v.rate("tcp_segments_sent")
	lost := ratio(again, sent)
	writes, found := v.waiting(func(s *stack) bool {
		return waitsFor(s, "IO wait") && s.Has(serverIO) && s.Has(called("internal/poll.(*FD).Write*"))
	})
	if lost < leastRetransmits && writes < leastBlocked {
		return nil
	}
	f := &finding{}
	share := 0.0
	f.Title = "The network limits the server"
	if lost >= leastRetransmits {
		share = bound(ratio(v.load.Each(again)*retransmitWait, v.mean()), 0, 0.9)
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s of the segments are sent again, %s a second.", percent(lost), perSecond(again)))
	}
	if writes >= leastBlocked {
		share = max(share, writes)
		f.Evidence = append(f.Evidence, fmt.Sprintf("Requests wait %s of their time until clients accept what was written (%.3g goroutines).", percent(writes), found.Total))
	}
	f.Gain, f.Confidence = v.both(0, share), 0.6
	f.Evidence = append(f.Evidence, fmt.Sprintf("The server sends %s a second.", bytesOf(known(v.load.Answer)*known(v.load.Rate))))
	f.Advice = []string{
		"Send less: compress answers, and leave out what clients do not need.",
		"Look at the path for loss and for its bandwidth: interface errors, shaping, a full link.",
		"Measure from a machine that reads as fast as real clients together.",
	}
	return f
}
