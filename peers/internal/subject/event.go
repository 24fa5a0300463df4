package subject

import (
	"fmt"
	"strconv"
	"time"
)

// The bounds of /stream's parameters, and the defaults.
const (
	MinEventSize    = 32      // bytes
	MaxEventSize    = 1 << 16 // bytes
	MinInterval     = time.Millisecond
	MaxInterval     = time.Hour
	defaultSize     = 40 // bytes
	defaultInterval = 100 * time.Millisecond
)

// Stream holds the parameters of a request to /stream.
type Stream struct {
	Interval time.Duration // between two events
	Size     int           // bytes of an event, its two newlines included
}

// ParseStream reads the query parameters interval (as [time.ParseDuration] does)
// and size (bytes). The error is for the client, with status 400.
func ParseStream(interval, size string) (Stream, error) {
	s := Stream{Interval: defaultInterval, Size: defaultSize}
	if interval != "" {
		d, err := time.ParseDuration(interval)
		if err != nil || d < MinInterval || d > MaxInterval {
			return Stream{}, fmt.Errorf("interval is not a duration of %v to %v", MinInterval, MaxInterval)
		}
		s.Interval = d
	}
	if size != "" {
		n, err := strconv.Atoi(size)
		if err != nil || n < MinEventSize || n > MaxEventSize {
			return Stream{}, fmt.Errorf("size is not a number of %d to %d", MinEventSize, MaxEventSize)
		}
		s.Size = n
	}
	return s, nil
}

// An event on the wire; the data is between the prefix and the two newlines.
//
//	d a t a :   1 7 6 3 7 2 1 2 3 4 5 6 7 8 9 0 1 2 3   . . . . \n \n
//	|- prefix -|----------- stampLength -----------|  |padding|
const (
	prefix      = "data: "
	stampLength = 19 // of the nanoseconds since 1970, from 2001 until 2286
)

// Event is the buffer of one stream's events. It is not safe for concurrent use.
type Event struct{ text []byte }

// NewEvent makes the buffer for the events of s.
func (s Stream) NewEvent() *Event {
	text := make([]byte, s.Size)
	for i := range text {
		text[i] = '.'
	}
	copy(text, prefix)
	text[len(prefix)+stampLength] = ' '
	copy(text[s.Size-2:], "\n\n")
	return &Event{text}
}

// Stamp returns the whole event that is sent at now. The slice is the buffer itself: it is
// valid until the next call.
func (e *Event) Stamp(now time.Time) []byte {
	strconv.AppendInt(e.text[:len(prefix)], now.UnixNano(), 10)
	return e.text
}

// StampData is [Event.Stamp] for stacks that frame events themselves: it returns only the
// event's data, with the same validity.
func (e *Event) StampData(now time.Time) []byte {
	text := e.Stamp(now)
	return text[len(prefix) : len(text)-len("\n\n")]
}
