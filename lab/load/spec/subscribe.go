package spec

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redline-go/redline/lab/load/sse"
)

// NeverRetry is the Subscribe.Retry of subscribers that do not reconnect.
const NeverRetry = time.Duration(-1)

// Subscribe describes the records of streams, and what a subscriber does when its stream
// ends. It is sent as JSON in the Spec.
type Subscribe struct {
	Format string        `json:"format"`          // events, lines, length4 or varint, see sse.Format
	Limit  int           `json:"limit,omitempty"` // bytes of a record; 0: 1 MiB
	Stamp  string        `json:"stamp,omitempty"` // where a record has its time, see sse.ParseSource; empty: nowhere
	Unit   string        `json:"unit,omitempty"`  // of that time, see sse.ParseUnit; empty: auto
	ID     string        `json:"id,omitempty"`    // where a record has a number that increases by one with each record
	Retry  time.Duration `json:"retry"`           // delay before a subscriber reconnects, unless the server sets it; NeverRetry: it does not
	Stall  time.Duration `json:"stall,omitempty"` // time without a byte after which a subscriber closes its connection; 0: it waits
	Ends   bool          `json:"ends,omitempty"`  // a stream that ends in order is not an error

	Topics    int        `json:"topics,omitempty"`    // topics of the subscribers, who are divided among them in turn; each request has its number for TopicMark. 0: one. HTTP/1.1 only if more
	First     int        `json:"first,omitempty"`     // number of the first subscriber, of one of several generators
	Churn     float64    `json:"churn,omitempty"`     // subscribers a second that leave, and join again as new ones
	Slow      *SlowRead  `json:"slow,omitempty"`      // nil: all read at once what arrives
	WebSocket *WebSocket `json:"websocket,omitempty"` // nil: the stream is the content of an answer
	Publish   *Publish   `json:"publish,omitempty"`   // nil: something else publishes
}

// TopicMark is replaced by the number of a topic in the requests of subscribers and publishers.
const TopicMark = "{topic}"

// SlowRead describes subscribers that do not read what arrives: their figures are apart from
// those of the others. HTTP/1.1 without TLS only.
type SlowRead struct {
	Share float64 `json:"share"` // of the subscribers, evenly spread; above 0, at most 1
	Rate  int64   `json:"rate"`  // bytes a second that each reads; 0: nothing after the head of the answer
}

// WebSocket describes subscribers that upgrade their connections (RFC 6455). Each message is a
// record. HTTP/1.1 only.
type WebSocket struct {
	Key  string   `json:"key"`            // Sec-WebSocket-Key of all requests
	Send []string `json:"send,omitempty"` // text messages that a subscriber sends first; TopicMark is replaced
}

// Publish describes publishers: they send events to the server at a constant rate, whatever the
// subscribers receive. Each event is the body of a POST of HTTP/1.1: a JSON object with its time
// and, counted for each topic from 1, its number, as ts and seq.
type Publish struct {
	Addr        string  `json:"addr"`          // host:port of the server, numeric
	Head        []byte  `json:"head"`          // of the request, without Content-Length and the empty line; TopicMark is replaced in it
	TLS         *TLS    `json:"tls,omitempty"` // nil: in clear
	Rate        float64 `json:"rate"`          // events a second, of all topics together, which follow in turn
	Size        int     `json:"size"`          // bytes of a body, if that is enough for its members
	Connections int     `json:"connections"`   // maximum; a topic's events are on one connection, in order, and each waits for the answer to the one before
}

// The texts of Subscribe.Format.
const (
	FormatEvents  = "events"  // server-sent events
	FormatLines   = "lines"   // newline-delimited JSON
	FormatLength4 = "length4" // a length of four bytes, big endian, before each record
	FormatVarint  = "varint"  // a base-128 varint of the length before each record, as in protobuf's delimited messages
	FormatMessage = "message" // messages of a WebSocket
)

var formats = map[string]sse.Format{FormatEvents: sse.Events, FormatLines: sse.Lines, FormatLength4: sse.Length4, FormatVarint: sse.Varint, FormatMessage: sse.Messages}

// Accept returns the media type that a subscriber requests. There is no generally accepted
// one for records with lengths.
func (c *Subscribe) Accept() string {
	switch c.Format {
	case FormatEvents:
		return "text/event-stream"
	case FormatLines:
		return "application/x-ndjson"
	}
	return "*/*"
}

// Validate returns an error that names the first invalid field.
func (c *Subscribe) Validate() error {
	_, err := c.Stream()
	return err
}

// Stream returns a reader of such records.
func (c *Subscribe) Stream() (*sse.Stream, error) {
	format, ok := formats[c.Format]
	switch {
	case !ok:
		return nil, fmt.Errorf("listen: format %q: write %s, %s, %s, %s or %s", c.Format, FormatEvents, FormatLines, FormatLength4, FormatVarint, FormatMessage)
	case c.Retry < 0 && c.Retry != NeverRetry:
		return nil, fmt.Errorf("listen: retry is %v", c.Retry)
	case c.Stall < 0:
		return nil, fmt.Errorf("listen: stall is %v", c.Stall)
	case (c.WebSocket != nil) != (c.Format == FormatMessage):
		return nil, fmt.Errorf("listen: format %s is that of WebSockets, and theirs alone", FormatMessage)
	}
	if err := c.validateCrowd(); err != nil {
		return nil, err
	}
	of := sse.Config{Format: format, Limit: c.Limit}
	var err error
	if of.Stamp, err = sse.ParseSource(c.Stamp); err != nil {
		return nil, err
	}
	if of.ID, err = sse.ParseSource(c.ID); err != nil {
		return nil, err
	}
	if c.Unit != "" {
		if of.Unit, err = sse.ParseUnit(c.Unit); err != nil {
			return nil, err
		}
	}
	return sse.NewStream(of)
}

// maxTopics and maxPublishRate are limits: the state of a topic takes eight bytes, and one
// connection cannot publish more.
const (
	maxTopics      = 10_000_000
	maxPublishRate = 10_000_000
	maxPublishSize = 16 << 20
)

// validateCrowd validates what subscribers and publishers do.
func (c *Subscribe) validateCrowd() error {
	p := c.Publish
	switch {
	case c.Topics < 0 || c.Topics > maxTopics:
		return fmt.Errorf("listen: %d topics, at most %d are possible", c.Topics, maxTopics)
	case c.First < 0:
		return fmt.Errorf("listen: first subscriber is %d", c.First)
	case c.Churn < 0 || math.IsNaN(c.Churn) || math.IsInf(c.Churn, 0):
		return fmt.Errorf("listen: churn is %v", c.Churn)
	case c.Slow != nil && !(c.Slow.Share > 0 && c.Slow.Share <= 1):
		return fmt.Errorf("listen: share of slow subscribers is %v", c.Slow.Share)
	case c.Slow != nil && c.Slow.Rate < 0:
		return fmt.Errorf("listen: rate of slow subscribers is %d", c.Slow.Rate)
	case p == nil:
	case !(p.Rate > 0 && p.Rate <= maxPublishRate):
		return fmt.Errorf("publish: rate is %v", p.Rate)
	case p.Size < 0 || p.Size > maxPublishSize:
		return fmt.Errorf("publish: size is %d bytes, at most %d are possible", p.Size, maxPublishSize)
	case p.Connections < 1:
		return fmt.Errorf("publish: connections is %d", p.Connections)
	case len(p.Head) == 0:
		return errors.New("publish: request is empty")
	}
	return nil
}
