package spec

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/sse"
)

// NeverRetry is the Subscribe.Retry of subscribers that do not come back.
const NeverRetry = time.Duration(-1)

// Subscribe says what streams consist of, and what a subscriber does when its one
// ends. It travels as JSON, in the orders of a generator's process.
type Subscribe struct {
	Format string        `json:"format"`          // events, lines, length4 or varint, see sse.Format
	Limit  int           `json:"limit,omitempty"` // bytes of a record; 0: a mebibyte
	Stamp  string        `json:"stamp,omitempty"` // where in a record its time is, see sse.ParseSource
	Unit   string        `json:"unit,omitempty"`  // of that time, see sse.ParseUnit; empty: auto
	ID     string        `json:"id,omitempty"`    // where a number is that grows by one from record to record
	Retry  time.Duration `json:"retry"`           // until a subscriber comes back, when the server does not say; Never
	Stall  time.Duration `json:"stall,omitempty"` // without a byte, after which a subscriber gives its connection up; 0: it waits
	Ends   bool          `json:"ends,omitempty"`  // a stream that ends in order is no error
}

// The texts of Subscribe.Format.
const (
	FormatEvents  = "events"  // server-sent events
	FormatLines   = "lines"   // newline-delimited JSON
	FormatLength4 = "length4" // a length of four bytes, big endian, before each record
	FormatVarint  = "varint"  // a base-128 varint of length before each, as protobuf's delimited messages have it
)

var formats = map[string]sse.Format{FormatEvents: sse.Events, FormatLines: sse.Lines, FormatLength4: sse.Length4, FormatVarint: sse.Varint}

// Accept is the media type that a subscriber asks for; of records with lengths there
// is none that all agree on.
func (c *Subscribe) Accept() string {
	switch c.Format {
	case FormatEvents:
		return "text/event-stream"
	case FormatLines:
		return "application/x-ndjson"
	}
	return "*/*"
}

// Validate names the first field that cannot be meant.
func (c *Subscribe) Validate() error {
	_, err := c.Stream()
	return err
}

// Stream is what reads such records.
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

// Subscribed is what the subscribers of a window came to, beside what all loads have.
type Subscribed struct {
	Subscribers int     `json:"subscribers"`       // that were asked for
	Standing    int     `json:"standing"`          // at the window's end
	Lowest      int     `json:"lowest_standing"`   // in the window; of merged results their sum, which is a lower bound
	Endless     int     `json:"endless"`           // at its end within a record that is over the limit
	Quiet       int     `json:"quiet"`             // standing, and without an event in the window
	Silence     float64 `json:"silence_seconds"`   // longest time without an event of one that stood at the end; of the window at most when it never had one
	Connect     float64 `json:"connect_seconds"`   // until all stood, or no more came
	Memory      uint64  `json:"memory_bytes"`      // resident, of the generator at the window's end
	Each        float64 `json:"memory_each_bytes"` // what a subscriber added to that

	Events     uint64 `json:"events"`     //
	Stamped    uint64 `json:"stamped"`    // of them, with a time at Subscribe.Stamp
	Numbered   uint64 `json:"numbered"`   // of them, with an integer at Subscribe.ID: the others' are neither missed nor duplicated
	Missed     uint64 `json:"missed"`     // see Counts
	Duplicated uint64 `json:"duplicated"` //
	Oversized  uint64 `json:"oversized"`  //
	Cut        uint64 `json:"cut"`        //
	Comments   uint64 `json:"comments"`   //
	Negative   uint64 `json:"negative"`   //
	Reconnects uint64 `json:"reconnects"` //
	Ends       uint64 `json:"ends"`       //
	Retired    uint64 `json:"retired"`    // at the window's end, since the run began

	Gap string `json:"gap_hdr,omitempty"` // between two events of a subscriber; HdrHistogram V2 compressed, base64; nanoseconds
	Lag string `json:"lag_hdr,omitempty"` // of reads, see the package
}
