package static

import "strings"

// A Coding is a content coding that files may be stored in.
type Coding struct{ Name, Ext string }

// codings are in order of preference for a client that has none.
var codings = [...]Coding{{"br", ".br"}, {"zstd", ".zst"}, {"gzip", ".gz"}}

// Codings returns, in the first n elements of list, the codings that a client prefers to no
// coding, according to its Accept-Encoding field, the best first (RFC 9110, 12.5.3).
func Codings(accept string) (list [len(codings)]Coding, n int) {
	var weights [len(codings)]int
	identity := weightOf(accept, "identity", "identity", false)
	for _, c := range codings {
		alias := c.Name
		if alias == "gzip" {
			alias = "x-gzip"
		}
		w := weightOf(accept, c.Name, alias, true)
		if w <= 0 || w < identity {
			continue
		}
		at := n
		for ; at > 0 && weights[at-1] < w; at-- {
			list[at], weights[at] = list[at-1], weights[at-1]
		}
		list[at], weights[at] = c, w
		n++
	}
	return list, n
}

// weightOf returns the weight that a list gives to a name or its alias, in thousandths,
// otherwise the weight of "*", if star is set; or -1.
func weightOf(accept, name, alias string, star bool) int {
	other := -1
	for accept != "" {
		var element string
		element, accept = cutList(accept)
		text, params := cutParams(element)
		w, ok := weight(params)
		switch {
		case !ok:
		case strings.EqualFold(text, name), strings.EqualFold(text, alias):
			return w
		case star && text == "*":
			other = w
		}
	}
	return other
}

// BestType returns the index of the media type that a client prefers according to its
// Accept field, or -1 if it accepts none of them. Among equals the first wins (RFC 9110,
// 12.5.1).
func BestType(accept string, offered []string) int {
	best, most := -1, 0
	for i, offer := range offered {
		if w := typeWeight(accept, offer); w > most {
			best, most = i, w
		}
	}
	return best
}

// typeWeight returns the weight of the most specific range that matches an offer, in
// thousandths; 0 if there is none.
func typeWeight(accept, offer string) int {
	offered, offeredParams := cutParams(offer)
	major, _, _ := strings.Cut(offered, "/")
	found, precision := 0, -1
	for accept != "" {
		var element string
		element, accept = cutList(accept)
		text, params := cutParams(element)
		w, ok := weight(params)
		if !ok {
			continue
		}
		p := -1
		rangeMajor, rangeMinor, _ := strings.Cut(text, "/")
		switch {
		case text == "*/*":
			p = 0
		case rangeMinor == "*" && strings.EqualFold(rangeMajor, major):
			p = 1
		case strings.EqualFold(text, offered):
			if n, all := containsParams(offeredParams, params); all {
				p = 2 + n
			}
		}
		if p > precision {
			found, precision = w, p
		}
	}
	return found
}

// containsParams reports whether all parameters of a media range, up to its
// weight, are among those of an offer, and how many there are.
func containsParams(offer, want string) (n int, all bool) {
	for want != "" {
		var one string
		one, want = cutParam(want)
		if isWeight(one) {
			break
		}
		if one == "" {
			continue
		}
		found := false
		for rest := offer; rest != "" && !found; {
			var other string
			other, rest = cutParam(rest)
			found = strings.EqualFold(other, one)
		}
		if !found {
			return 0, false
		}
		n++
	}
	return n, true
}

// weight finds the weight among parameters (RFC 9110, 12.4.2), in thousandths:
// 1000 when there is none. ok is false when it is malformed.
func weight(params string) (thousandths int, ok bool) {
	for params != "" {
		var one string
		if one, params = cutParam(params); isWeight(one) {
			return qvalue(one[2:])
		}
	}
	return 1000, true
}

func isWeight(param string) bool {
	return len(param) >= 2 && param[0]|0x20 == 'q' && param[1] == '='
}

// qvalue reads 0, 1, or one of them with up to three digits after the point.
func qvalue(s string) (thousandths int, ok bool) {
	if s == "" || s[0] != '0' && s[0] != '1' || len(s) > 1 && s[1] != '.' || len(s) > 5 {
		return 0, false
	}
	n, unit := int(s[0]-'0')*1000, 100
	for i := 2; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n += int(s[i]-'0') * unit
		unit /= 10
	}
	return n, n <= 1000
}

// cutList cuts the first element off a list, cutParam the first parameter off parameters,
// and cutParams an element's parameters off its text. Separators within quoted strings do
// not count.
func cutList(s string) (element, rest string)  { return cutAt(s, ',') }
func cutParam(s string) (param, rest string)   { return cutAt(s, ';') }
func cutParams(s string) (text, params string) { return cutAt(s, ';') }
func cutAt(s string, sep byte) (one, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			return strings.Trim(s[:i], " \t"), s[i+1:]
		}
	}
	return strings.Trim(s, " \t"), ""
}
