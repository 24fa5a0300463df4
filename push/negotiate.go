package push

import (
	"strconv"
	"strings"
)

// choose returns the encoding that a client asks for by name, or accepts most (RFC 9110,
// 12.5.1).
func (h *Hub) choose(name string, accept []string) (uint8, bool) {
	best, encoding := 0.0, uint8(0)
	for i, f := range h.encodings {
		if i > 0 && h.topical[i-1] == uint8(i) {
			continue // the variant of the one before
		}
		q := 0.0
		switch {
		case name != "":
			if f.Name() == name {
				q = 1
			}
		case len(accept) == 0:
			q = 1
		default:
			q = quality(accept, f.MediaType())
		}
		if q > best {
			best, encoding = q, uint8(i)
		}
	}
	return encoding, best > 0
}

// accepts reports whether a client names a media type.
func accepts(accept []string, mediaType string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			if name, _, _ := strings.Cut(part, ";"); strings.EqualFold(strings.TrimSpace(name), mediaType) {
				return true
			}
		}
	}
	return false
}

// choices names the formats, for an error.
func (h *Hub) choices() string {
	var names []string
	for _, f := range h.o.Formats {
		names = append(names, f.MediaType()+" ("+f.Name()+")")
	}
	return strings.Join(names, ", ")
}

// quality returns how much a client accepts a media type: that of the most specific range.
func quality(accept []string, mediaType string) float64 {
	kind, _, _ := strings.Cut(mediaType, "/")
	best, q := 0, 0.0
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			specific := 0
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case mediaType:
				specific = 3
			case kind + "/*":
				specific = 2
			case "*/*":
				specific = 1
			}
			if specific > best {
				best, q = specific, weight(params)
			}
		}
	}
	return q
}

// weight returns the parameter q of a media range; what cannot be read is 1.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		if k != "q" && k != "Q" {
			continue
		}
		if q, err := strconv.ParseFloat(v, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}
