package sse

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Unit is the unit of a time since 1970.
type Unit uint8

// The units. Auto depends on the number of digits before the point: up to 11 are seconds,
// up to 14 milliseconds, up to 17 microseconds, more nanoseconds; that is correct from 1973
// to the year 5138.
const (
	Auto Unit = iota
	Seconds
	Milliseconds
	Microseconds
	Nanoseconds
)

var units = [...]string{Auto: "auto", Seconds: "s", Milliseconds: "ms", Microseconds: "us", Nanoseconds: "ns"}

// ParseUnit parses auto, s, ms, us or ns.
func ParseUnit(text string) (Unit, error) {
	for u, name := range units {
		if text == name {
			return Unit(u), nil
		}
	}
	return 0, fmt.Errorf("unit %q of a time stamp: write auto, s, ms, us or ns", text)
}

// String returns the unit in the format of ParseUnit.
func (u Unit) String() string {
	if int(u) < len(units) {
		return units[u]
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

// time returns the number as nanoseconds since 1970; false if it is not a number, or later
// than the year 2262.
func (n *number) time(u Unit) (int64, bool) {
	if !n.any || n.bad {
		return 0, false
	}
	if u == Auto {
		switch {
		case n.whole <= 11:
			u = Seconds
		case n.whole <= 14:
			u = Milliseconds
		case n.whole <= 17:
			u = Microseconds
		default:
			u = Nanoseconds
		}
	}
	ns := n.digits
	shift := 3*int(Nanoseconds-u) - int(n.frac)
	for ; shift < 0; shift++ {
		ns /= 10
	}
	for ; shift > 0; shift-- {
		high, low := bits.Mul64(ns, 10)
		if high > 0 {
			return 0, false
		}
		ns = low
	}
	return int64(ns), ns <= math.MaxInt64
}

// Source is the place of a number in a record. The zero value is no place.
type Source struct {
	Field string   // of a server-sent event, such as "data", "id" or another name
	Path  []string // keys in the JSON text of that field; empty: the field begins with the number

	Number uint32 // of a field of the record, which is a protobuf message: a number, or text for Path; 0: the record is the text
}

// ParseSource parses the three forms of a Source: "@id" is the field id of a server-sent
// event, which begins with the number ("@data" is the record itself, in any format);
// "ts" or "meta.sent" is a key, or keys of nested objects, of the record's JSON; and "#2" is a
// field of a protobuf message by its number, "#4.ts" a key of the JSON in one. The empty text is
// the zero Source.
func ParseSource(text string) (Source, error) {
	if text == "" {
		return Source{}, nil
	}
	if field, ok := strings.CutPrefix(text, "#"); ok {
		digits, keys, nested := strings.Cut(field, ".")
		n, err := strconv.ParseUint(digits, 10, 29) // protobuf's largest number has 29 bits
		if err != nil || n == 0 {
			return Source{}, fmt.Errorf("source %q: write # and the number of a protobuf field, such as #2 or #4.ts", text)
		}
		s := Source{Field: fieldNames[Data]}
		if nested {
			if keys == "" || strings.HasPrefix(keys, "@") || strings.HasPrefix(keys, "#") {
				return Source{}, fmt.Errorf("source %q: write keys of JSON after the field, such as #4.ts", text)
			}
			if s, err = ParseSource(keys); err != nil {
				return Source{}, err
			}
		}
		s.Number = uint32(n)
		return s, nil
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		if name == "" || len(name) > maxName || strings.ContainsAny(name, ": \r\n") {
			return Source{}, fmt.Errorf("source %q: write @ and the name of a field, such as @id", text)
		}
		return Source{Field: name}, nil
	}
	path := strings.Split(text, ".")
	for _, key := range path {
		if key == "" || len(key) > maxName {
			return Source{}, fmt.Errorf("source %q: write keys with a point between them, such as ts or meta.sent", text)
		}
	}
	if len(path) > maxPath {
		return Source{}, fmt.Errorf("source %q: more than %d keys", text, maxPath)
	}
	return Source{Field: fieldNames[Data], Path: path}, nil
}

const (
	maxName = 64 // bytes of a field's name or a key
	maxPath = 16 // keys
)
