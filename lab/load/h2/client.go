package h2

import (
	"errors"
	"fmt"
)

// Settings are common to all connections of a Client. Zero values mean the defaults.
type Settings struct {
	Streams      int      // maximum number of requests in flight on a connection, even if the server allows more; 100
	StreamWindow int      // bytes that the server may send ahead on one stream; 16 MiB
	ConnWindow   int      // bytes that the server may send ahead on all streams; 1 GiB
	HeaderBlock  int      // limit on a response's encoded header block in bytes; 64 KiB
	HeaderList   int      // limit on its fields in bytes as defined in RFC 9113, section 6.5.2; 64 KiB
	Text         bool     // keep all fields of a response for Head.Text
	Want         []string // names, in lower case, of the fields that Head.Value returns
}

// Client holds the state that its connections share. They all belong to one goroutine.
type Client struct {
	set     Settings
	preface []byte
	static  [len(static)]staticField
	text    []byte // of the literals being decoded
	block   []byte // the block being encoded, if it needs more than one frame
}

// staticField is an entry of the static table with its class.
type staticField struct {
	name, value []byte
	class       class
}

// NewClient validates the settings and prepares the shared state.
func NewClient(s Settings) (*Client, error) {
	s.Streams = orElse(s.Streams, 100)
	s.StreamWindow = orElse(s.StreamWindow, 16<<20)
	s.ConnWindow = orElse(s.ConnWindow, 1<<30)
	s.HeaderBlock = orElse(s.HeaderBlock, 64<<10)
	s.HeaderList = orElse(s.HeaderList, 64<<10)
	switch {
	case s.Streams < 1 || s.Streams > 1<<20:
		return nil, fmt.Errorf("http2: %d streams on a connection: 1 to %d are possible", s.Streams, 1<<20)
	case s.StreamWindow < 2 || s.StreamWindow > maxWindow:
		return nil, fmt.Errorf("http2: a stream window of %d: 2 to %d are possible", s.StreamWindow, maxWindow)
	case s.ConnWindow < firstWindow || s.ConnWindow > maxWindow:
		return nil, fmt.Errorf("http2: a connection window of %d: %d to %d are possible", s.ConnWindow, firstWindow, maxWindow)
	case s.HeaderBlock < 0 || s.HeaderList < 0:
		return nil, errors.New("http2: a limit of header bytes is negative")
	case len(s.Want) > maxWant:
		return nil, fmt.Errorf("http2: %d wanted fields: at most %d are possible", len(s.Want), maxWant)
	}
	c := &Client{set: s}
	for i, name := range s.Want {
		if got := c.classify([]byte(name)); got != classWanted+class(i) {
			return nil, fmt.Errorf("http2: wanted field %q is not allowed, or occurs twice", name)
		}
	}
	for i, p := range static {
		c.static[i] = staticField{name: []byte(p.name), value: []byte(p.value), class: c.classify([]byte(p.name))}
	}
	p := append([]byte(nil), preface...)
	p = appendHead(p, 3*6, frameSettings, 0, 0)
	p = appendSetting(p, setPush, 0)
	p = appendSetting(p, setWindow, uint32(s.StreamWindow))
	p = appendSetting(p, setHeaderList, uint32(s.HeaderList))
	if more := s.ConnWindow - firstWindow; more > 0 {
		p = appendWindow(p, 0, uint32(more))
	}
	c.preface = p
	return c, nil
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// classify returns the class of a field name.
func (c *Client) classify(name []byte) class {
	switch string(name) {
	case ":status":
		return classStatus
	case "content-length":
		return classLength
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return classForbidden
	}
	if len(name) > 0 && name[0] == ':' {
		return classPseudo
	}
	if !validName(name) {
		return classBadName
	}
	for i, want := range c.set.Want {
		if want == string(name) {
			return classWanted + class(i)
		}
	}
	return classPlain
}
