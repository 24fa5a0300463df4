package gomem

import (
	"strconv"
	"time"
)

// A Value is one figure. A figure that could not be read is not known; it is never zero
// instead. [Process.Missing] says why.
type Value struct {
	N     int64
	Known bool
}

// known is a value that was read.
func known[T ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n T) Value { return Value{int64(n), true} }

// Get returns the figure and whether it is known.
func (v Value) Get() (int64, bool) { return v.N, v.Known }

// Duration returns a figure in nanoseconds as a duration; 0 if it is not known.
func (v Value) Duration() time.Duration { return time.Duration(v.N) }

// String returns the number, or "?" if it is not known.
func (v Value) String() string {
	if !v.Known {
		return "?"
	}
	return strconv.FormatInt(v.N, 10)
}

// MarshalJSON returns the number, or null if it is not known.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, v.N, 10), nil
}

// sum adds values; it is known if all are.
func sum(vs ...Value) Value {
	total := Value{Known: true}
	for _, v := range vs {
		total.N += v.N
		total.Known = total.Known && v.Known
	}
	if !total.Known {
		return Value{}
	}
	return total
}

// less subtracts; it is known if both are.
func (v Value) less(w Value) Value {
	w.N = -w.N
	return sum(v, w)
}
