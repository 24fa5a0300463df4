package push

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/redline-go/redline"
)

// An ask is a request for a stream: what every request is asked for is read from it directly, and
// the functions of the user get a request of net/http, which is made only for them.
type ask struct {
	method, query  string
	origin, lastID string
	accept         []string
	native         *redline.Ctx  // nil if it came as a request of net/http
	r              *http.Request // nil until it is made
	joining        joining       // what becomes of it
}

// asks are for native requests: memory that many of them would leave behind lies between that of
// their subscribers.
var asks = sync.Pool{New: func() any { return new(ask) }}

// asked returns what a request of net/http asks for.
func asked(r *http.Request) *ask {
	return &ask{
		method: r.Method, query: r.URL.RawQuery, r: r,
		origin: r.Header.Get("Origin"), lastID: r.Header.Get("Last-Event-ID"), accept: r.Header["Accept"],
	}
}

// askedNatively returns what a native request asks for. The caller returns it by done.
func askedNatively(c *redline.Ctx) *ask {
	a := asks.Get().(*ask)
	a.method, a.query, a.native = c.Method(), c.RawQuery(), c
	a.origin, a.lastID = c.Header("Origin"), c.Header("Last-Event-ID")
	a.accept = a.values("Accept")
	return a
}

// done ends the use of an ask, and of its joining.
func (a *ask) done() {
	*a = ask{}
	asks.Put(a)
}

// values returns the values of all fields with a name, which is a canonical one.
func (a *ask) values(name string) (values []string) {
	if a.native == nil {
		return a.r.Header[name]
	}
	a.native.VisitHeaders(func(field, value []byte) bool {
		if len(field) == len(name) && strings.EqualFold(string(field), name) {
			values = append(values, string(value))
		}
		return true
	})
	return values
}

// request returns the request as functions of the user expect it. withContext is for those that may
// wait.
func (a *ask) request(withContext bool) (*http.Request, error) {
	if a.r != nil {
		return a.r, nil
	}
	c := a.native
	u, err := url.ParseRequestURI(c.Target())
	if err != nil {
		return nil, err
	}
	r := &http.Request{
		Method: a.method, URL: u, Proto: c.Proto(), Header: http.Header{}, Host: c.Host(),
		RemoteAddr: c.RemoteAddr().String(), RequestURI: c.Target(), TLS: c.TLS(), Body: http.NoBody,
	}
	r.ProtoMajor, r.ProtoMinor, _ = http.ParseHTTPVersion(r.Proto)
	c.VisitHeaders(func(name, value []byte) bool {
		r.Header.Add(string(name), string(value))
		return true
	})
	if withContext {
		r = r.WithContext(c.Context())
	}
	a.r = r
	return r, nil
}

// host returns the host of the client's address, without its port.
func (a *ask) host() string {
	if a.native == nil {
		return hostPart(a.r.RemoteAddr)
	}
	return hostOf(a.native.RemoteAddr())
}

// outerHost is like host, or "" for those that pace does not count: the text of their address is not made.
func (a *ask) outerHost() string {
	if a.native != nil {
		if tcp, ok := a.native.RemoteAddr().(*net.TCPAddr); ok {
			if ip, _ := netip.AddrFromSlice(tcp.IP); inner(ip) {
				return ""
			}
			return hostOf(tcp)
		}
	}
	return a.host()
}

// mostParameters is how many parameters a query may have, as for package url.
const mostParameters = 10_000

var errParameters = errors.New("the query has too many parameters")

// errSemicolon is because some servers take it for a separator, and others for a part of a value.
var errSemicolon = errors.New("the query has a semicolon")

// errPresence is because what is asked for must not be guessed.
var errPresence = errors.New("presence is 1, or left out")

// A wish is what the query of an ask says.
type wish struct {
	topics   []string
	format   string // "" if the client has none, as lastID
	lastID   string
	presence bool // it wants to be told who joins and leaves
}

// wishes reads the query. Of a parameter that has one value the first counts. What cannot be read is
// an error: it must not count as not asked for.
func (a *ask) wishes() (w wish, err error) {
	if strings.Count(a.query, "&") >= mostParameters {
		return wish{}, errParameters
	}
	var format, lastID bool // was named before
	for part := range strings.SplitSeq(a.query, "&") {
		if strings.Contains(part, ";") {
			return wish{}, errSemicolon
		}
		name, value, _ := strings.Cut(part, "=")
		if name, err = url.QueryUnescape(name); err != nil {
			return wish{}, err
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return wish{}, err
		}
		switch {
		case name == "topic":
			w.topics = append(w.topics, value)
		case name == "format" && !format:
			w.format, format = value, true
		case name == "last_event_id" && !lastID:
			w.lastID, lastID = value, true
		case name == "presence" && value != "1":
			return wish{}, errPresence
		case name == "presence":
			w.presence = true
		}
	}
	return w, nil
}

// fields are those of a response: an http.Header, or the header of a native one.
type fields interface {
	Set(name, value string)
	Add(name, value string)
}

// nativeHeader is the header of a native response. What is set is valid.
type nativeHeader struct{ c *redline.Ctx }

func (n nativeHeader) Set(name, value string) { _ = n.c.SetHeader(name, value) }
func (n nativeHeader) Add(name, value string) { _ = n.c.AddHeader(name, value) }
