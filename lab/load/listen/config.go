package listen

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/sse"
)

// Never is the Config.Retry of subscribers that do not come back.
const Never = time.Duration(-1)

// Config says what streams consist of, and what a subscriber does when its one
// ends. It travels as JSON, in the orders of a generator's process.
type Config struct {
	Format string        `json:"format"`          // events, lines, length4 or varint, see sse.Format
	Limit  int           `json:"limit,omitempty"` // bytes of a record; 0: a mebibyte
	Stamp  string        `json:"stamp,omitempty"` // where in a record its time is, see sse.ParseSource
	Unit   string        `json:"unit,omitempty"`  // of that time, see sse.ParseUnit; empty: auto
	ID     string        `json:"id,omitempty"`    // where a number is that grows by one from record to record
	Retry  time.Duration `json:"retry"`           // until a subscriber comes back, when the server does not say; Never
	Stall  time.Duration `json:"stall,omitempty"` // without a byte, after which a subscriber gives its connection up; 0: it waits
	Ends   bool          `json:"ends,omitempty"`  // a stream that ends in order is no error
}

// The texts of Config.Format.
const (
	Events  = "events"  // server-sent events
	Lines   = "lines"   // newline-delimited JSON
	Length4 = "length4" // a length of four bytes, big endian, before each record
	Varint  = "varint"  // a base-128 varint of length before each, as protobuf's delimited messages have it
)

var formats = map[string]sse.Format{Events: sse.Events, Lines: sse.Lines, Length4: sse.Length4, Varint: sse.Varint}

// Accept is the media type that a subscriber asks for; of records with lengths there
// is none that all agree on.
func (c *Config) Accept() string {
	switch c.Format {
	case Events:
		return "text/event-stream"
	case Lines:
		return "application/x-ndjson"
	}
	return "*/*"
}

// Validate names the first field that cannot be meant.
func (c *Config) Validate() error {
	_, err := c.stream()
	return err
}

// stream makes the Config ready.
func (c *Config) stream() (*sse.Stream, error) {
	format, ok := formats[c.Format]
	switch {
	case !ok:
		return nil, fmt.Errorf("listen: format %q: write %s, %s, %s or %s", c.Format, Events, Lines, Length4, Varint)
	case c.Retry < 0 && c.Retry != Never:
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
