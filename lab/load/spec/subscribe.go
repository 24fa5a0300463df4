package spec

import (
	"fmt"
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
}

// The texts of Subscribe.Format.
const (
	FormatEvents  = "events"  // server-sent events
	FormatLines   = "lines"   // newline-delimited JSON
	FormatLength4 = "length4" // a length of four bytes, big endian, before each record
	FormatVarint  = "varint"  // a base-128 varint of the length before each record, as in protobuf's delimited messages
)

var formats = map[string]sse.Format{FormatEvents: sse.Events, FormatLines: sse.Lines, FormatLength4: sse.Length4, FormatVarint: sse.Varint}

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
		return nil, fmt.Errorf("listen: format %q: write %s, %s, %s or %s", c.Format, FormatEvents, FormatLines, FormatLength4, FormatVarint)
	case c.Retry < 0 && c.Retry != NeverRetry:
		return nil, fmt.Errorf("listen: retry is %v", c.Retry)
	case c.Stall < 0:
		return nil, fmt.Errorf("listen: stall is %v", c.Stall)
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

// Subscribed is the result of the subscribers in a window, in addition to the results of all
// loads.
type Subscribed struct {
	Subscribers int     `json:"subscribers"`       // as requested
	Standing    int     `json:"standing"`          // connected at the end of the window
	Lowest      int     `json:"lowest_standing"`   // minimum of Standing in the window; of merged results the sum of the minimums, which is a lower bound
	Endless     int     `json:"endless"`           // at the end of the window inside a record that exceeds the limit
	Quiet       int     `json:"quiet"`             // connected, and without an event in the window
	Silence     float64 `json:"silence_seconds"`   // longest time without an event at the end, of the subscribers connected at the end; at most the window's length for one that never had an event
	Connect     float64 `json:"connect_seconds"`   // until all were connected, or no more connected
	Memory      uint64  `json:"memory_bytes"`      // resident set of the generator at the end of the window
	Each        float64 `json:"memory_each_bytes"` // what each subscriber added to Memory

	Events     uint64 `json:"events"`
	Stamped    uint64 `json:"stamped"`  // of Events, with a time at Subscribe.Stamp
	Numbered   uint64 `json:"numbered"` // of Events, with an integer at Subscribe.ID: only these are counted as missed or duplicated
	Missed     uint64 `json:"missed"`   // see Counts
	Duplicated uint64 `json:"duplicated"`
	Oversized  uint64 `json:"oversized"`
	Cut        uint64 `json:"cut"`
	Comments   uint64 `json:"comments"`
	Negative   uint64 `json:"negative"`
	Reconnects uint64 `json:"reconnects"`
	Ends       uint64 `json:"ends"`
	Retired    uint64 `json:"retired"` // at the end of the window, since the run began

	Gap string `json:"gap_hdr,omitempty"` // between two events of a subscriber; HdrHistogram V2 compressed, base64; nanoseconds
	Lag string `json:"lag_hdr,omitempty"` // lag of reads, see package subscribe; encoded as Gap
}
