package sse

// The states of a finder.
const (
	findValue  = iota // before a value on the path; of the record itself at first
	findNumber        // within the number
	findKey           // before a key, or the end of the object
	inKey
	findColon
	skipValue // value of another key
	done      // found, or not present
)

// A finder finds the number at a path of keys in a JSON text, or at the start of a text if
// the path is empty, and receives the text in pieces. It does not validate the text: if it
// is not JSON the result is undefined.
//
// A key that is written with escapes is not found; if a key occurs twice in an object the
// first one counts.
type finder struct {
	number
	left   uint32 // of a protobuf message: bytes of the current field to go
	deep   uint32 // open brackets within a skipped value
	state  uint8
	level  uint8 // keys of the path found so far: open objects on the path, minus one
	pos    uint8 // bytes of the key that match
	differ bool  // the key does not match
	quoted bool  // within a string of a skipped value
	escape bool  // the last byte was a backslash
	part   uint8 // of a protobuf message
	shift  uint8 // bits that digits has of its current value
}

// reset makes the finder ready for the next record.
func (f *finder) reset() { *f = finder{} }

// end reports the end of a line of the record's text: it completes a number; anything else
// may continue.
func (f *finder) end() {
	if f.state == findNumber {
		f.state = done
	}
}

// feed consumes the next bytes of the record.
func (f *finder) feed(b []byte, path []string) {
	for i := 0; i < len(b) && f.state != done; i++ {
		switch c := b[i]; f.state {
		case findValue:
			f.begin(c, len(path))
		case findNumber:
			if !f.digit(c) {
				f.state, f.word = done, !ends(c)
			}
		case findKey:
			switch c {
			case '"':
				f.state, f.pos, f.differ = inKey, 0, false
			case '}':
				f.state = done
			}
		case inKey:
			f.key(c, path[f.level])
		case findColon:
			if c == ':' {
				f.state, f.deep, f.quoted = skipValue, 0, false
				if !f.differ {
					f.level++
					f.state = findValue
				}
			}
		case skipValue:
			f.skip(c)
		}
	}
}

// begin consumes a byte before or at the start of a value on the path.
func (f *finder) begin(c byte, keys int) {
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case int(f.level) < keys && c == '{':
		f.state = findKey
	case int(f.level) < keys:
		f.state = done
	case c == '"' && !f.differ:
		f.differ = true // one quotation mark may precede the number
	case f.digit(c):
		f.state = findNumber
	default:
		f.state = done
	}
}

// key consumes a byte of a key.
func (f *finder) key(c byte, want string) {
	switch {
	case f.escape:
		f.escape = false
	case c == '\\':
		f.escape, f.differ = true, true
	case c == '"':
		f.differ = f.differ || int(f.pos) != len(want)
		f.state = findColon
	case f.differ:
	case int(f.pos) < len(want) && want[f.pos] == c:
		f.pos++
	default:
		f.differ = true
	}
}

// skip consumes a byte of a value that is not on the path.
func (f *finder) skip(c byte) {
	switch {
	case f.escape:
		f.escape = false
	case f.quoted:
		f.escape, f.quoted = c == '\\', c != '"'
	case c == '"':
		f.quoted = true
	case c == '{' || c == '[':
		f.deep++
	case c == ',' && f.deep == 0:
		f.state = findKey
	case (c == '}' || c == ']') && f.deep == 0:
		f.state = done
	case c == '}' || c == ']':
		f.deep--
	}
}

// number is a decimal number while it is parsed: no sign, no exponent.
type number struct {
	digits uint64 // without the point
	whole  uint8  // digits before the point, without leading zeros
	frac   uint8  // digits after it
	point  bool
	any    bool // there was a digit
	bad    bool // more than 64 bits, or an exponent
	word   bool // followed by other characters: 1526919030474-55 is a name, not a number
}

// digit consumes a byte; it returns false if the byte is not part of the number.
func (n *number) digit(c byte) bool {
	switch {
	case c == '.' && n.any && !n.point:
		n.point = true
		return true
	case c == 'e' || c == 'E':
		n.bad = n.any
		return false
	case c < '0' || c > '9':
		return false
	}
	d := uint64(c - '0')
	n.any = true
	if n.digits > (1<<64-1-d)/10 || n.frac == 64 {
		// Digits of a fraction beyond the precision of 64 bits are dropped.
		n.bad = n.bad || !n.point
		return true
	}
	n.digits = n.digits*10 + d
	switch {
	case n.point:
		n.frac++
	case n.digits > 0:
		n.whole++
	}
	return true
}

// integer returns the number if it is an integer, and not the start of a name.
func (n *number) integer() (uint64, bool) { return n.digits, n.any && !n.bad && !n.point && !n.word }

// ends reports whether a number may end before c.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '"', ',', ']', '}':
		return true
	}
	return false
}
