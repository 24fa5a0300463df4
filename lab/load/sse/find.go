package sse

// The states of a finder.
const (
	findValue  = iota // before a value on the path; of the record itself at first
	findNumber        // within the number
	findKey           // before a key, or the end of the object
	inKey             //
	findColon         //
	skipValue         // of another key
	done              // found, or not there
)

// A finder finds the number at a path of keys in a JSON text, or at the
// beginning of a text when the path is empty, and takes the text in pieces. It
// does not check the text: of what is not JSON it finds something or nothing.
//
// A key that is written with escapes is not found; of a key that comes twice in
// one object the first counts.
type finder struct {
	number
	deep   uint32 // open brackets within a value that is skipped
	state  uint8
	level  uint8 // keys of the path found so far: open objects on the path, less one
	pos    uint8 // bytes of the key that agree
	differ bool  // the key is another one
	quoted bool  // within a string of a value that is skipped
	escape bool  // the last byte was a backslash
}

// reset makes the finder ready for the next record.
func (f *finder) reset() { *f = finder{} }

// end says that a line of the record's text has ended: a number at its end is
// complete, and anything else may go on.
func (f *finder) end() {
	if f.state == findNumber {
		f.state = done
	}
}

// feed takes the next bytes of the record.
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

// begin takes a byte before or at the beginning of a value on the path.
func (f *finder) begin(c byte, keys int) {
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case int(f.level) < keys && c == '{':
		f.state = findKey
	case int(f.level) < keys:
		f.state = done
	case c == '"' && !f.differ:
		f.differ = true // one quotation mark may stand before the number
	case f.digit(c):
		f.state = findNumber
	default:
		f.state = done
	}
}

// key takes a byte of a key.
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

// skip takes a byte of a value that is not on the path.
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

// number is a decimal number as it is read: no sign, no exponent.
type number struct {
	digits uint64 // without the point
	whole  uint8  // digits before the point, leading zeros not counted
	frac   uint8  // digits after it
	point  bool
	any    bool // there was a digit
	bad    bool // more than 64 bits, or an exponent
	word   bool // what follows belongs to it: 1526919030474-55 is a name, and no number
}

// digit takes a byte; false says that it is not of the number.
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
		// Digits of a fraction beyond the precision of 64 bits are left out.
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

// integer is the number if it is whole, and not the beginning of a name.
func (n *number) integer() (uint64, bool) { return n.digits, n.any && !n.bad && !n.point && !n.word }

// ends reports whether a number may end before c.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '"', ',', ']', '}':
		return true
	}
	return false
}
