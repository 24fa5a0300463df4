package sse

import (
	"fmt"
	"math"
)

// Config describes the records of a stream and their content.
type Config struct {
	Format Format
	Limit  int    // bytes of a record, values only; 0: 1 MiB
	Stamp  Source // time at which the server sent the record
	Unit   Unit   // of Stamp
	ID     Source // an integer that increases by one with each record
}

const defaultLimit = 1 << 20

// A Stream is a compiled Config, shared by all subscribers of a kind. It is immutable.
type Stream struct {
	scanner Scanner // at the start of a stream
	extra   string  // name of the field Extra, or empty
	unit    Unit
	stamp   target
	id      target
}

// target is a compiled Source.
type target struct {
	field  Field  // unknown: nowhere
	number uint32 // of a protobuf field in it; 0: the field is the text
	path   []string
}

// feed searches the next bytes of the field.
func (t *target) feed(f *finder, b []byte) {
	if t.number == 0 {
		f.feed(b, t.path)
	} else {
		f.unwrap(b, t.number, t.path)
	}
}

// NewStream compiles a Config.
func NewStream(c Config) (*Stream, error) {
	if c.Limit < 0 || c.Limit > math.MaxInt32 {
		return nil, fmt.Errorf("sse: limit of a record is %d bytes: write 1 to %d", c.Limit, math.MaxInt32)
	}
	if c.Limit == 0 {
		c.Limit = defaultLimit
	}
	s := &Stream{scanner: NewScanner(c.Format, uint32(c.Limit)), unit: c.Unit}
	var err error
	if s.stamp, err = s.target(c.Format, c.Stamp); err != nil {
		return nil, err
	}
	if s.id, err = s.target(c.Format, c.ID); err != nil {
		return nil, err
	}
	return s, nil
}

// target finds the field of a Source. There can be only one field with another name.
func (s *Stream) target(f Format, from Source) (target, error) {
	if from.Field == "" {
		return target{field: unknown}, nil
	}
	if from.Number > 0 && f != Length4 && f != Varint && f != Messages {
		return target{}, fmt.Errorf("sse: field number %d: only length-delimited records and messages of WebSockets are protobuf; write @data or a key", from.Number)
	}
	for field, name := range fieldNames {
		if from.Field == name && (f == Events || Field(field) == Data) {
			return target{Field(field), from.Number, from.Path}, nil
		}
	}
	if f != Events {
		return target{}, fmt.Errorf("sse: field %q: a record has fields in server-sent events only; write @data or a key", from.Field)
	}
	if s.extra != "" && s.extra != from.Field {
		return target{}, fmt.Errorf("sse: fields %q and %q: one of them has to be data, event, id or retry", s.extra, from.Field)
	}
	s.extra = from.Field
	return target{field: Extra, path: from.Path}, nil
}
