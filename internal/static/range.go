package static

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A Range is a part of a representation, in bytes.
type Range struct{ Start, Length int64 }

// ContentRange returns the value of Content-Range for the part of a
// representation of size bytes (RFC 9110, 14.4).
func (r Range) ContentRange(size int64) string {
	b := make([]byte, 0, 64)
	b = append(b, "bytes "...)
	b = strconv.AppendInt(b, r.Start, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, r.Start+r.Length-1, 10)
	b = append(b, '/')
	return string(strconv.AppendInt(b, size, 10))
}

// Unsatisfied returns the value of Content-Range that goes with status 416.
func Unsatisfied(size int64) string { return "bytes */" + strconv.FormatInt(size, 10) }

// MaxRanges is the maximum number of ranges of one request; a field that asks for more is
// ignored (RFC 9110, 14.2).
const MaxRanges = 32

// ErrRange is returned for a Range field that cannot be satisfied: status 416.
var ErrRange = errors.New("range not satisfiable")

// ParseRange returns the ranges that the value of a Range field requests from a
// representation of size bytes, in their order and truncated to its end. No ranges mean
// that the whole is to be sent: the field is empty, or is ignored because its unit is
// unknown, the ranges are too many or longer than the whole, or there is nothing to send
// (RFC 9110, 14.1.2 and 14.2). The error is ErrRange.
func ParseRange(value string, size int64) ([]Range, error) {
	unit, set, ok := strings.Cut(value, "=")
	if value == "" || size == 0 || ok && !strings.EqualFold(unit, "bytes") {
		return nil, nil
	}
	if !ok {
		return nil, ErrRange
	}
	var ranges []Range
	asked, left := 0, size
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue // a recipient of a list ignores empty elements (RFC 9110, 5.6.1.2)
		}
		if asked++; asked > MaxRanges {
			return nil, nil
		}
		r, valid := parseSpec(spec, size)
		if !valid {
			return nil, ErrRange
		}
		if r.Length == 0 {
			continue // it begins after the end
		}
		ranges = append(ranges, r)
		if left >= 0 {
			left -= r.Length // neither is negative: it cannot overflow
		}
	}
	switch {
	case len(ranges) == 0:
		return nil, ErrRange
	case left < 0:
		return nil, nil
	}
	return ranges, nil
}

// parseSpec reads first-last, first- or -suffix. Its Length is 0 if no part of the range
// exists.
func parseSpec(spec string, size int64) (r Range, valid bool) {
	first, last, ok := strings.Cut(spec, "-")
	if !ok {
		return r, false
	}
	if first == "" {
		n, ok := position(last)
		n = min(n, size)
		return Range{Start: size - n, Length: n}, ok
	}
	start, ok := position(first)
	if !ok {
		return r, false
	}
	end := int64(math.MaxInt64)
	if last != "" {
		if end, ok = position(last); !ok || end < start {
			return r, false
		}
	}
	if start >= size {
		return r, true
	}
	return Range{Start: start, Length: min(end, size-1) - start + 1}, true
}

// position reads 1*DIGIT; a number beyond an int64 is beyond the end of every file, too.
func position(s string) (n int64, ok bool) {
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 {
			return 0, false
		}
		if n > (math.MaxInt64-d)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + d
	}
	return n, s != ""
}
