package exchange

import "bytes"

// Classes of bytes in an authority, as bits of hostClass.
const (
	regName = 1 << iota // unreserved and sub-delims
	hexDigit
)

var hostClass = buildHostClass()

func buildHostClass() (t [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		t[c] |= regName | hexDigit
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= regName
		t[c-'a'+'A'] |= regName
	}
	for c := 'a'; c <= 'f'; c++ {
		t[c] |= hexDigit
		t[c-'a'+'A'] |= hexDigit
	}
	for _, c := range []byte("-._~!$&'()*+,;=") {
		t[c] |= regName
	}
	return t
}

// IsHex reports whether c is a hexadecimal digit.
func IsHex(c byte) bool { return hostClass[c]&hexDigit != 0 }

// ValidAuthority reports whether b is uri-host [":" port] (RFC 9110, 7.2; RFC 3986, 3.2.2),
// with a host of at least one byte and a port within 16 bits. Userinfo is refused (RFC
// 9110, 4.2.4). The port may be missing or empty unless it is required (RFC 9112, 3.2.3).
func ValidAuthority(b []byte, needPort bool) bool {
	i := 0
	if len(b) > 0 && b[0] == '[' {
		if i = literalLen(b); i == 0 {
			return false
		}
	} else {
		for ; i < len(b) && b[i] != ':'; i++ {
			if hostClass[b[i]]&regName != 0 {
				continue
			}
			if b[i] != '%' || len(b)-i < 3 || !IsHex(b[i+1]) || !IsHex(b[i+2]) {
				return false
			}
			i += 2
		}
	}
	if i == 0 {
		return false
	}
	if i == len(b) {
		return !needPort
	}
	return b[i] == ':' && validPort(b[i+1:], needPort)
}

// SameAuthority reports whether two authorities name the same host and port (RFC 3986, 6.2): hosts in
// whatever case, and the port of the scheme where there is none.
func SameAuthority(a, b []byte, port string) bool {
	if bytes.Equal(a, b) {
		return true
	}
	hostA, portA := splitPort(a, port)
	hostB, portB := splitPort(b, port)
	return FoldedEqual(string(hostA), string(hostB)) && portA == portB
}

// splitPort splits an authority, and replaces a port that is missing or empty.
func splitPort(b []byte, otherwise string) (host []byte, port string) {
	i := bytes.LastIndexByte(b, ':')
	switch {
	case i < 0 || bytes.IndexByte(b[i:], ']') >= 0: // within an IPv6 address
		return b, otherwise
	case i == len(b)-1:
		return b[:i], otherwise
	}
	return b[:i], string(b[i+1:])
}

func validPort(b []byte, needed bool) bool {
	port := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
		if port = port*10 + int(c-'0'); port > 65535 {
			return false
		}
	}
	return len(b) > 0 || !needed
}

// literalLen returns the length of the leading "[" IPv6address "]", or 0. Zones and
// IPvFuture are refused; the documentation of package http1 says why.
func literalLen(b []byte) int {
	groups, elided := 0, false
	i := 1
	if len(b) > 3 && b[1] == ':' && b[2] == ':' {
		elided, i = true, 3
	}
	for i < len(b) && b[i] != ']' {
		begin := i
		for i < len(b) && i-begin < 5 && IsHex(b[i]) {
			i++
		}
		if i == len(b) || i == begin {
			return 0
		}
		if b[i] == '.' {
			n := dottedLen(b[begin:])
			if i = begin + n; n == 0 || i == len(b) || b[i] != ']' {
				return 0
			}
			groups += 2
			break
		}
		if i-begin > 4 {
			return 0
		}
		groups++
		if b[i] == ']' {
			break
		}
		if b[i] != ':' || i+1 == len(b) || b[i+1] == ']' {
			return 0
		}
		if i++; b[i] == ':' {
			if elided {
				return 0
			}
			elided = true
			i++
		}
	}
	if i == len(b) || elided && groups > 7 || !elided && groups != 8 {
		return 0
	}
	return i + 1
}

// dottedLen returns the length of the leading IPv4address (RFC 3986, 3.2.2), or 0.
func dottedLen(b []byte) int {
	i := 0
	for part := range 4 {
		if part > 0 {
			if i == len(b) || b[i] != '.' {
				return 0
			}
			i++
		}
		begin, value := i, 0
		for i < len(b) && b[i] >= '0' && b[i] <= '9' && i-begin < 4 {
			value = value*10 + int(b[i]-'0')
			i++
		}
		if i == begin || value > 255 || b[begin] == '0' && i-begin > 1 {
			return 0
		}
	}
	return i
}
