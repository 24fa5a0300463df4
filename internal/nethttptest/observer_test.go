package nethttptest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// patience bounds every wait; nothing is expected to take it.
	patience = time.Minute
	// soon is what short timeouts of trials begin with. A trial that a machine was too
	// slow for is played with a longer one, up to longest.
	soon    = 400 * time.Millisecond
	longest = 4 * 4 * 4 * soon
	// lingers is for how long all servers, at least, wait for a client to take its
	// last answer before they reset a connection with content that nobody wants.
	lingers = 400 * time.Millisecond
)

// An observer writes down what happens on the server's side of a run, and holds
// handlers and script to an order.
type observer struct {
	mu     sync.Mutex
	seen   []string
	log    []string
	conns  map[string]*connection // by the client's address
	gates  map[string]chan struct{}
	calls  int // of the handler
	kept   []*http.Request
	busy   int // handlers and other goroutines that may still write
	dir    string
	conn   net.Conn // most recently passed to a hook
	secure bool     // clients speak TLS

	timeout time.Duration // what short says
	timed   atomic.Bool   // it was asked for
}

// A connection is what the server has told of one.
type connection struct{ states []http.ConnState }

func newObserver(dir string) *observer {
	return &observer{conns: map[string]*connection{}, gates: map[string]chan struct{}{}, dir: dir, timeout: soon}
}

// short is a timeout that is meant to pass, but not before what comes at once has
// come.
func (o *observer) short() time.Duration {
	o.timed.Store(true)
	return o.timeout
}

// outlast lets such a timeout pass.
func (o *observer) outlast() { time.Sleep(o.short() + o.short()/4) }

// note writes a line of what was seen.
func (o *observer) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, quoteUnprintable(fmt.Sprintf(format, args...)))
}

// Write takes what the server logs.
func (o *observer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, _, _ := strings.Cut(string(p), "\n") // stacks differ
	o.log = append(o.log, line)
	return len(p), nil
}

// state takes what the server tells of a connection.
func (o *observer) state(c net.Conn, s http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	remote := c.RemoteAddr().String()
	k := o.conns[remote]
	if k == nil {
		k = new(connection)
		o.conns[remote] = k
	}
	k.states = append(k.states, s)
}

// begin and end bracket what may still write to the observer.
func (o *observer) begin() { o.count(1) }
func (o *observer) end()   { o.count(-1) }

func (o *observer) count(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy += n
}

// settled reports whether nothing more is to come of these clients.
func (o *observer) settled(clients []*client) bool { return o.idle() && o.ended(clients) }

// idle reports whether all handlers have returned.
func (o *observer) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy == 0
}

// ended reports whether these clients' connections, and all others, have ended.
func (o *observer) ended(clients []*client) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range clients {
		if o.conns[c.addr] == nil && !o.refused(c.addr) {
			return false // it may not be accepted yet
		}
	}
	for _, k := range o.conns {
		if last := k.states[len(k.states)-1]; last != http.StateClosed && last != http.StateHijacked {
			return false
		}
	}
	return true
}

// refused reports whether a handshake has failed: of that, Redline tells no state.
func (o *observer) refused(addr string) bool {
	return slices.ContainsFunc(o.log, func(l string) bool { return strings.HasPrefix(l, "http: TLS handshake error from "+addr+":") })
}

// gate returns the gate of a name, shut when it is new.
func (o *observer) gate(name string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := o.gates[name]
	if g == nil {
		g = make(chan struct{})
		o.gates[name] = g
	}
	return g
}

// open opens a gate, for all and for good.
func (o *observer) open(name string) {
	g := o.gate(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-g:
	default:
		close(g)
	}
}

// pass waits until a gate is open.
func (o *observer) pass(name string) { o.await(o.gate(name), "gate "+name) }

// await waits for a channel to be closed, and writes down that it was not.
func (o *observer) await(c <-chan struct{}, what string) bool {
	select {
	case <-c:
		return true
	case <-time.After(patience):
		o.note("waited in vain for %s", what)
		return false
	}
}

// err writes down how something ended.
func (o *observer) err(what string, err error) { o.note("%s: %s", what, describe(err)) }

// describe names an error by what programs can tell about it, and where that is
// nothing by its text.
func describe(err error) string {
	var tooLarge *http.MaxBytesError
	var op *net.OpError
	var netError net.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &tooLarge):
		return fmt.Sprintf("MaxBytesError of %d: %v", tooLarge.Limit, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("deadline exceeded, a timeout %v", errors.As(err, &netError) && netError.Timeout())
	case errors.Is(err, net.ErrClosed), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return "the connection is gone"
	case malformed.MatchString(err.Error()):
		return "content is malformed"
	case errors.As(err, &op):
		return "network error: " + op.Err.Error()
	}
	for _, known := range []struct {
		name string
		err  error
	}{
		{"io.EOF", io.EOF},
		{"io.ErrUnexpectedEOF", io.ErrUnexpectedEOF},
		{"os.ErrClosed", os.ErrClosed},
		{"io.ErrClosedPipe", io.ErrClosedPipe},
		{"http.ErrBodyReadAfterClose", http.ErrBodyReadAfterClose},
		{"http.ErrHijacked", http.ErrHijacked},
		{"http.ErrContentLength", http.ErrContentLength},
		{"http.ErrBodyNotAllowed", http.ErrBodyNotAllowed},
		{"http.ErrNotSupported", http.ErrNotSupported},
		{"http.ErrHandlerTimeout", http.ErrHandlerTimeout},
		{"http.ErrNotMultipart", http.ErrNotMultipart},
		{"http.ErrMissingBoundary", http.ErrMissingBoundary},
		{"http.ErrMissingFile", http.ErrMissingFile},
		{"http.ErrNoCookie", http.ErrNoCookie},
		{"http.ErrServerClosed", http.ErrServerClosed},
		{"multipart.ErrMessageTooLarge", multipart.ErrMessageTooLarge},
		{"context.Canceled", context.Canceled},
		{"context.DeadlineExceeded", context.DeadlineExceeded},
	} {
		if errors.Is(err, known.err) {
			if err == known.err {
				return known.name
			}
			return known.name + " in: " + err.Error()
		}
	}
	return "error: " + err.Error()
}

// malformed is what the engines call content in the chunked coding that is not:
// programs cannot tell these errors apart but by their text.
var malformed = regexp.MustCompile(`^(request body: .*|malformed chunked encoding|invalid byte in chunk length|http chunk length too large|` +
	`chunked line ends with bare LF|invalid CR in chunked line|empty hex number for chunk length|header line too long|` +
	`chunked encoding contains too much non-data)$`)

// read reads content to its end and writes down what it was.
func (o *observer) read(r io.Reader) []byte {
	b, err := io.ReadAll(r)
	o.note("content %s: %s", brief(b), describe(err))
	return b
}

// request writes down all that a request says, but for its content.
func (o *observer) request(r *http.Request) {
	o.note("%s %s %d.%d", r.Method, r.Proto, r.ProtoMajor, r.ProtoMinor)
	o.note("RequestURI %s", r.RequestURI)
	u := r.URL
	o.note("URL scheme %q opaque %q user %v host %q", u.Scheme, u.Opaque, u.User, u.Host)
	o.note("URL path %q raw path %q query %q forced %v fragment %q", u.Path, u.RawPath, u.RawQuery, u.ForceQuery, u.Fragment+u.RawFragment)
	o.note("Host %q", r.Host)
	o.header("Header", r.Header)
	o.note("ContentLength %d", r.ContentLength)
	if r.TransferEncoding != nil {
		o.note("TransferEncoding %q", r.TransferEncoding)
	}
	o.note("Close %v", r.Close)
	if r.Trailer != nil {
		o.header("Trailer", r.Trailer)
	}
	o.note("RemoteAddr %s", r.RemoteAddr)
	o.note("no body %v", r.Body == http.NoBody)
	if r.Pattern != "" {
		o.note("Pattern %q", r.Pattern)
	}
	if r.Body == nil || (r.TLS != nil) != o.secure || r.Form != nil || r.PostForm != nil || r.MultipartForm != nil || r.Response != nil || r.GetBody != nil {
		o.note("a field is set that should not be, or is not: %+v", r)
	}
	if s := r.TLS; s != nil && (s.Version != tls.VersionTLS13 || !s.HandshakeComplete || s.NegotiatedProtocol+s.ServerName != "") {
		o.note("TLS %s, whole %v, protocol %q, name %q", tls.VersionName(r.TLS.Version), r.TLS.HandshakeComplete, r.TLS.NegotiatedProtocol, r.TLS.ServerName)
	}
	if err := r.Context().Err(); err != nil {
		o.err("context", err)
	}
}

// header writes down a header.
func (o *observer) header(what string, h http.Header) {
	if h == nil {
		o.note("%s is nil", what)
	}
	for _, k := range slices.Sorted(maps.Keys(h)) {
		if line := fmt.Sprintf("%s %s: %q", what, k, h[k]); len(line) < 300 {
			o.note("%s", line)
		} else {
			o.note("%s %s of %d values: %s", what, k, len(h[k]), brief([]byte(line)))
		}
	}
}
