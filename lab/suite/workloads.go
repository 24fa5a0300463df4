package suite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// A workload describes requests and the responses that are required.
type workload struct {
	name, title  string
	method, path string
	headers      string // except Host and Content-Length, complete lines
	body         []byte
	contentType  string // of the body; empty: application/octet-stream
	pipeline     int
	connections  int     // 0: the number on the command line
	stream       bool    // events of one endless response are counted
	push         *push   // of a stream: what clients publish; nil: the server makes the events
	feed         *feed   // of a stream: where its events have their time; nil: see the contract of /stream
	most         int     // connections that a process can hold, if they are fewer than asked for; 0: enough
	idle         bool    // each connection sends one request, then stays idle
	share        float64 // of the subject's closed-loop rate, as Poisson arrivals; 0: a closed loop
	rate         float64 // Poisson arrivals per second; 0: a closed loop
	ceiling      float64 // share of limit's closed-loop rate, as Poisson arrivals; 0: a closed loop
	varied       bool    // requests differ, responses do not
	backend      string  // that the service queries; empty: none
	beside       *beside // slow requests mixed into an open loop
	parts        []part  // requests for responses of several sizes; nil: one size
	family       string  // group of workloads in several sizes; empty: none
	floor        bool    // served by limit
	secure       *secure // TLS, and what is over it; nil: HTTP/1.1 in clear
	answer       answer
}

// An answer is the response that a workload requires of every subject.
type answer struct {
	contentType string
	body        []byte
	newline     bool // one more trailing newline is correct: json.Encoder writes one
}

const (
	octetStream     = "application/octet-stream"
	uploadBytes     = 1 << 20
	streamInterval  = 100 * time.Millisecond
	streamEventSize = 40
	streamClients   = 5000
	idleConnections = 10_000
	commonRate      = 20_000 // per second: every subject reaches it

	// openConnections is the number of connections of an open loop. With fewer than the
	// maximum number of concurrent requests, arrivals wait for a connection and the
	// figures depend on the number.
	openConnections = 256
)

// browserHeaders holds the fields that Chromium 130 on Linux sends when it navigates to
// a site that has set cookies: about 800 bytes with the request line.
const browserHeaders = "Connection: keep-alive\r\n" +
	"Cache-Control: max-age=0\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"130\", \"Google Chrome\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"sec-ch-ua-platform: \"Linux\"\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-User: ?1\r\n" +
	"Sec-Fetch-Dest: document\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n" +
	"Cookie: session=8f14e45fceea167a5a36dedd4bea2543; theme=dark\r\n"

// quickPath is the path of the smallest requests, and plainAnswer their response.
const quickPath = "/plaintext"

func plainAnswer() answer {
	return answer{contentType: "text/plain", body: []byte("Hello, World!")}
}

// plaintext returns the smallest workload. Others are derived from it.
func plaintext() workload {
	return workload{
		name: "plaintext", title: "GET, 13 bytes back", method: "GET", path: quickPath,
		pipeline: 1, floor: true, answer: plainAnswer(),
	}
}

// workloads returns every workload outside the families, in the order of the reports.
func workloads() []workload {
	plain := plainAnswer()
	pattern := patternOf(uploadBytes)
	return []workload{
		{
			name: "plaintext", title: "GET, 13 bytes back", method: "GET", path: "/plaintext",
			pipeline: 1, floor: true, answer: plain,
		},
		{
			name: "json", title: "GET, a struct encoded per request", method: "GET", path: "/json", pipeline: 1,
			answer: answer{contentType: "application/json", body: []byte(`{"message":"Hello, World!"}`), newline: true},
		},
		{
			name: "browser", title: "GET with the headers of a browser", method: "GET", path: "/plaintext",
			headers: browserHeaders, pipeline: 1, floor: true, answer: plain,
		},
		{
			name: "pipeline16", title: "GET, 16 different requests in flight per connection", method: "GET", path: "/plaintext",
			pipeline: 16, varied: true, floor: true, answer: plain,
		},
		{
			name: "echo1k", title: "POST 1 KiB, the same back", method: "POST", path: "/echo", pipeline: 1,
			body:   pattern[:1024],
			answer: answer{contentType: octetStream, body: pattern[:1024]},
		},
		{
			name: "upload1m", title: "POST 1 MiB, its length back", method: "POST", path: "/upload", pipeline: 1,
			body:   pattern,
			answer: answer{contentType: "text/plain", body: fmt.Appendf(nil, "%d", uploadBytes)},
		},
		{
			name: "stream", title: fmt.Sprintf("SSE, one event each %v to each client", streamInterval), method: "GET",
			path:     fmt.Sprintf("/stream?interval=%v&size=%d", streamInterval, streamEventSize),
			pipeline: 1, connections: streamClients, stream: true, floor: true,
			answer: answer{contentType: "text/event-stream"},
		},
		{
			name: "idle", title: "Idle connections, after one request each", method: "GET", path: "/plaintext",
			pipeline: 1, connections: idleConnections, idle: true, floor: true, answer: plain,
		},
		{
			name: "half", title: "Poisson arrivals at half of the subject's own maximum rate", method: "GET", path: "/plaintext",
			pipeline: 1, connections: openConnections, share: 0.5, floor: true, answer: plain,
		},
		{
			name: "rate20k", title: fmt.Sprintf("Poisson arrivals, %d per second", commonRate), method: "GET", path: "/plaintext",
			pipeline: 1, connections: openConnections, rate: commonRate, floor: true, answer: plain,
		},
	}
}

// open reports whether requests are sent on a schedule, and not after responses.
func (w *workload) open() bool { return w.share > 0 || w.rate > 0 || w.ceiling > 0 }

// common reports whether all subjects get the same arrivals, on as many connections as
// in a closed loop: the CPU that they use for them is compared.
func (w *workload) common() bool { return w.family != "" && w.open() }

// lead returns the main metric of a workload, empty for the report's default.
func (w *workload) lead() results.Metric {
	switch {
	case w.beside != nil:
		return results.MetricP99
	case w.family != "":
		return results.MetricCPU
	}
	return ""
}

// Workloads returns the names of the workloads outside the families, which --full
// measures.
func Workloads() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return names
}

// Quick returns the names of the workloads of --quick: closed loops with one request and
// with many in flight on each connection, and a load that is typical of services.
func Quick() []string { return []string{"plaintext", "pipeline16", "at25"} }

// request returns the bytes of the workload's request for a server at host; prefix is
// prepended to the path.
func (w *workload) request(host, prefix string) []byte { return w.requestOf(host, prefix, 0) }

// more returns the requests that follow the first one, nil if all are the same.
func (w *workload) more(host, prefix string) (more [][]byte) {
	for i := 1; w.varied && i < variedRequests; i++ {
		more = append(more, w.requestOf(host, prefix, i))
	}
	return more
}

// requestOf returns the i-th request.
func (w *workload) requestOf(host, prefix string, i int) []byte {
	target, fields := w.path, w.headers
	if w.varied {
		target += varyTarget(i)
		fields += varyFields(i)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s HTTP/1.1\r\nHost: %s\r\n%s", w.method, prefix, target, host, fields)
	if w.body != nil {
		fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", cmp.Or(w.contentType, octetStream), len(w.body))
	}
	b.WriteString("\r\n")
	b.Write(w.body)
	return b.Bytes()
}

// accepts returns how a response's media type and body differ from the required ones,
// or "".
func (a *answer) accepts(contentType string, body []byte) string {
	media, _, _ := strings.Cut(contentType, ";")
	if media = strings.TrimSpace(media); media != a.contentType {
		return fmt.Sprintf("Content-Type is %q, want %q", contentType, a.contentType)
	}
	if a.body == nil || bytes.Equal(body, a.body) || a.newline && bytes.Equal(body, append(a.body[:len(a.body):len(a.body)], '\n')) {
		return ""
	}
	return fmt.Sprintf("body is %s, want %s", excerpt(body), excerpt(a.body))
}

func excerpt(b []byte) string {
	if len(b) > 60 {
		return fmt.Sprintf("%q... (%d bytes)", b[:60], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func (w *workload) describe(connections int) results.Workload {
	unit, arrivals, path := "request", "", w.path
	if w.beside != nil {
		path += " and " + w.beside.path
	}
	if w.parts != nil {
		path = "/bytes of " + strings.Join(partNames(w.parts), ", ")
	}
	streams, reference := 0, floorName
	switch {
	case w.stream:
		unit = "event"
	case w.secure != nil && w.secure.fresh:
		unit = "handshake"
	}
	if w.secure != nil {
		streams, reference = w.secure.streams, "one subject over TLS"
	}
	switch {
	case w.share > 0:
		arrivals = fmt.Sprintf("Poisson, %.0f %% of the rate of a closed loop on the same process", 100*w.share)
	case w.ceiling > 0:
		arrivals = fmt.Sprintf("Poisson, %.0f %% of the rate of a closed loop on %s, the same for all", 100*w.ceiling, reference)
	case w.rate > 0:
		arrivals = fmt.Sprintf("Poisson, %.0f per second", w.rate)
	}
	published := ""
	if w.push != nil {
		published = w.push.words(connections)
	}
	return results.Workload{
		Published: published,

		Name: w.name, Title: w.title, Unit: unit, Method: w.method, Path: path,
		BodyBytes: len(w.body), HeaderBytes: len(w.request("127.0.0.1:8080", "")) - len(w.body),
		Connections: connections, Pipeline: w.pipeline, Arrivals: arrivals, Idle: w.idle,
		Varied: w.varied, Backend: w.backend, Lead: w.lead(), Family: w.family,
		Protocol: w.protocol(), Streams: streams,
	}
}

// variedRequests is the number of different requests of a varied workload: too many for a
// server to benefit from repetition, and few enough for the generator's CPU cache.
const variedRequests = 61

// agents lists values of User-Agent of typical clients.
var agents = []string{
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0",
	"Go-http-client/1.1",
	"curl/8.10.1",
	"python-requests/2.32.3",
	"okhttp/4.12.0",
	"kube-probe/1.31",
}

// varyTarget and varyFields return the variable parts of the i-th request: an id in the
// query, which no route reads, and the fields that proxies and tracing add. They are the
// same for every subject and in every run.
func varyTarget(i int) string { return fmt.Sprintf("?id=%d", 1+i*i*7919) }

func varyFields(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 0x7661726965640a))
	var id [24]byte
	for at := 0; at < len(id); at += 8 {
		binary.BigEndian.PutUint64(id[at:], rng.Uint64())
	}
	return fmt.Sprintf("User-Agent: %s\r\nX-Request-Id: %x-%x-%x-%x-%x\r\ntraceparent: 00-%x-%x-01\r\n",
		agents[i%len(agents)], id[:4], id[4:6], id[6:8], id[8:10], id[10:16], id[:16], id[16:])
}
