package redline_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline"
)

// A book is what the handlers of a program see, one page for each of its requests, which
// carry their number. A nil book keeps nothing.
type book struct{ pages []*notes }

func newBook(requests int) *book {
	b := new(book)
	for range requests {
		b.pages = append(b.pages, newNotes())
	}
	return b
}

const numberField = "X-Number"

func (b *book) page(c *redline.Ctx) *notes {
	if b == nil {
		return newNotes()
	}
	i, err := strconv.Atoi(c.Header(numberField))
	if err != nil {
		panic(err)
	}
	return b.pages[i]
}

// Notes are what the handler of one request sees. Its own goroutine alone writes them.
type notes struct {
	text    strings.Builder
	isLoose bool
	done    chan struct{} // closed when the handler has ended
}

func newNotes() *notes { return &notes{done: make(chan struct{})} }

func (n *notes) add(what ...any) {
	fmt.Fprintln(&n.text, what...)
}

// loose marks a handler after which the protocols cannot be compared: it has left the
// request and the response to a goroutine that it does not wait for, so chance decides what
// is read and sent; or it has taken the connection, which HTTP/2 does not give away.
func (n *notes) loose() {
	n.isLoose = true
}

// alone does what a handler may not do beside another goroutine, with net/http neither.
func (n *notes) alone(f func()) {
	if !n.isLoose {
		f()
	}
}

func (n *notes) close() {
	close(n.done)
}

// request notes what an http.Handler sees before it begins.
//
// Left out are Proto, RemoteAddr and TransferEncoding: they name the protocol, the connection
// and the framing of HTTP/1.
func (n *notes) request(r *http.Request) {
	n.add(r.Method, r.RequestURI, r.URL, r.Host, r.Header, r.ContentLength, r.Trailer, r.Close)
}

// A wellFormed request is the same in both protocols. Left out of messages are those that
// only HTTP/1 has: other versions, framing that is wrong, and content that ends early, of
// which chance decides how much arrives before the stream or the connection ends. Left out is
// also content that the client keeps until it gets 100 (Continue): a handler that flushes and
// then reads would wait for a client that waits for it.
type wellFormed struct {
	method  string
	size    int // of the content; -1 if there is none
	unknown bool
	trailer bool
}

var wellFormeds = []wellFormed{
	{method: "GET", size: -1},
	{method: "HEAD", size: -1},
	{method: "POST", size: 5},
	{method: "POST", size: 0},
	{method: "POST", size: 5, unknown: true},
	{method: "POST", size: 5, unknown: true, trailer: true},
	{method: "POST", size: 200 << 10},
	{method: "POST", size: 200 << 10, unknown: true, trailer: true},
	{method: "POST", size: 0, unknown: true, trailer: true},
	{method: "OPTIONS", size: -1},
}

func (q *wellFormed) request(ctx context.Context, url string, number int) (*http.Request, error) {
	var content io.Reader
	if q.size >= 0 {
		content = strings.NewReader(strings.Repeat("x", q.size))
	}
	if q.unknown {
		content = io.MultiReader(content)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, url+"/path?query", content)
	if err != nil {
		return nil, err
	}
	r.Host = "h"
	r.Header.Set("User-Agent", "test")
	r.Header.Set(numberField, strconv.Itoa(number))
	if q.trailer {
		r.Trailer = http.Header{"X-T": {"1"}}
	}
	return r, nil
}

// answered is what a client gets.
//
// Left out are Date, and Connection and Transfer-Encoding, which only HTTP/1 has. Of an answer
// that breaks off only that is compared: over HTTP/2 the reset may overtake what was to be
// sent before it.
func (q *wellFormed) answered(client *http.Client, url string, number int) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var infos []int
	r, err := q.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			infos = append(infos, code)
			return nil
		},
	}), url, number)
	if err != nil {
		return err.Error()
	}
	resp, err := client.Do(r)
	if err != nil {
		return broken(err)
	}
	defer resp.Body.Close()
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, resp.Body)
	if err != nil {
		return broken(err)
	}
	resp.Header.Del("Date")
	return fmt.Sprintln(infos, resp.StatusCode, resp.Header, resp.ContentLength, n, sum.Sum32(), resp.Trailer)
}

func broken(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "nothing comes: " + err.Error()
	}
	return "broken"
}

// askAll asks the requests of a program: over HTTP/1 on one connection each, over HTTP/2 all at
// once, on as many connections as the transport opens until the first one is ready.
func askAll(r *running, requests []*wellFormed, http2 bool) []string {
	answers := make([]string, len(requests))
	var mu sync.Mutex
	var conns []net.Conn
	over := false
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			if over { // the transport has begun a connection that it did not need
				c.Close()
			}
			conns = append(conns, c)
		}
		return c, err
	}
	transport := func() *http.Transport {
		tr := &http.Transport{
			DialContext: dial,
			Protocols:   new(http.Protocols), TLSClientConfig: clientTLS(), DisableCompression: true,
		}
		tr.Protocols.SetHTTP1(!http2)
		tr.Protocols.SetHTTP2(http2)
		tr.Protocols.SetUnencryptedHTTP2(http2)
		return tr
	}
	shared := transport()
	var all sync.WaitGroup
	for i, q := range requests {
		if http2 {
			all.Go(func() { answers[i] = q.answered(&http.Client{Transport: shared}, r.url(), i) })
			continue
		}
		tr := transport()
		answers[i] = q.answered(&http.Client{Transport: tr}, r.url(), i)
		tr.CloseIdleConnections()
	}
	all.Wait()
	shared.CloseIdleConnections()
	mu.Lock()
	defer mu.Unlock()
	over = true
	for _, c := range conns { // a stream may just have ended: its connection is not idle for the transport
		c.Close()
	}
	return answers
}

// compareMadeUp plays a program to well-formed requests over both protocols, and compares
// what its handlers see and what its clients get.
func compareMadeUp(t *testing.T, transport redline.Transport, program, sent []byte) {
	t.Helper()
	var requests []*wellFormed
	for _, m := range sent[:min(len(sent), 4)] {
		requests = append(requests, &wellFormeds[int(m)%len(wellFormeds)])
	}
	var books [2]*book
	var answers [2][]string
	for i := range books {
		b := newBook(len(requests))
		r := serve(t, inClear(&redline.Server{
			Transport: transport, Native: madeUp(program, b), Logger: slog.New(slog.DiscardHandler), ErrorLog: log.New(io.Discard, "", 0),
		}))
		books[i], answers[i] = b, askAll(r, requests, i == 1)
		for _, p := range b.pages {
			receive(t, p.done, fmt.Sprintf("handlers have ended: program %x, requests %x", program, sent))
		}
		until(t, "connections have ended", func() bool { return r.Stats().Open == 0 })
	}
	for i, q := range requests {
		one, two := books[0].pages[i], books[1].pages[i]
		if one.isLoose || two.isLoose {
			continue
		}
		where := fmt.Sprintf("program %x, requests %x, %+v", program, sent, *q)
		seen, got := [2]string{one.text.String(), two.text.String()}, [2]string{answers[0][i], answers[1][i]}
		if q.method == "HEAD" {
			headOnly(&seen, &got)
		}
		if seen[0] != seen[1] {
			t.Errorf("%s: the handler sees over HTTP/1\n%sand over HTTP/2\n%s", where, seen[0], seen[1])
		}
		if got[0] != got[1] {
			t.Errorf("%s: the client gets over HTTP/1\n%s\nand over HTTP/2\n%s\nThe handler sees\n%s", where, got[0], got[1], seen[0])
		}
	}
}

// headOnly removes what chance decides about answers to HEAD. They are complete with their
// heads, which a handler may flush long before it returns: so the client may leave while it
// runs, which then sees that in its writes and its context; or may have got the answer before
// the handler breaks it off.
func headOnly(seen, got *[2]string) {
	*seen = [2]string{}
	if slices.Contains(got[:], "broken") {
		got[0], got[1] = "", ""
	}
}
