package scenario

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// period is how long a variable keeps its value.
type period uint8

const (
	iteration period = iota // one pass of a flow, or one request of a target
	request
	user
	periods
)

type source uint8

const (
	fixed source = iota
	count
	integer
	uuid
	letters
	choice
	row
	signed
	userNumber
	iterationNumber
	captured
)

// slot is the definition of one variable or capture.
type slot struct {
	name     string
	source   source
	per      period
	value    []byte   // of fixed
	start    int64    // of count; the minimum of integer
	step     int64    // of count
	span     uint64   // of integer: the number of values, 0 for all
	length   int      // of letters
	choices  [][]byte // of choice; of letters: the characters
	table    *table
	shuffled bool // rows in random order
	token    *token
}

// table holds the rows of a CSV file.
type table struct {
	file    string
	columns []string
	rows    [][]string
}

// cell is the current value of a slot, for one user.
type cell struct {
	buf   []byte
	drawn uint64 // number of the period; 0: never
	index uint64 // number of values drawn; of a row: its number
	mac   mac
}

// builtin are the variables that need no declaration.
var builtin = map[string]slot{
	"vu":        {name: "vu", source: userNumber, per: user},
	"iteration": {name: "iteration", source: iterationNumber},
}

// value returns the value of a slot, and draws it if its period is over. It is valid until
// the next draw.
func (u *User) value(index, column int32) []byte {
	s, c := &u.plan.slots[index], &u.cells[index]
	if s.source == fixed {
		return s.value
	}
	if s.source != captured && c.drawn != u.now[s.per] {
		c.drawn = u.now[s.per]
		u.draw(s, c)
	}
	if s.source == row {
		return append(c.buf[:0], s.table.rows[c.index][column]...)
	}
	return c.buf
}

// draw gives c a new value.
func (u *User) draw(s *slot, c *cell) {
	c.buf = c.buf[:0]
	switch s.source {
	case count:
		c.buf = strconv.AppendInt(c.buf, s.start+int64(u.turn(c))*s.step, 10)
	case integer:
		n := u.random.Uint64()
		if s.span > 0 {
			n = u.random.Uint64N(s.span)
		}
		c.buf = strconv.AppendInt(c.buf, s.start+int64(n), 10)
	case uuid:
		c.buf = u.appendUUID(c.buf)
	case letters:
		for range s.length {
			c.buf = append(c.buf, s.choices[u.random.IntN(len(s.choices))]...)
		}
	case choice:
		c.buf = append(c.buf, s.choices[u.random.IntN(len(s.choices))]...)
	case row:
		if s.shuffled {
			c.index = u.random.Uint64N(uint64(len(s.table.rows)))
		} else {
			c.index = u.turn(c) % uint64(len(s.table.rows))
		}
	case userNumber:
		c.buf = strconv.AppendUint(c.buf, u.id, 10)
	case iterationNumber:
		c.buf = strconv.AppendUint(c.buf, u.now[iteration]-1, 10)
	case signed:
		c.buf = s.token.append(u, c.buf, &c.mac)
	}
}

// turn returns how many values all users together have drawn before this one, if they take
// turns. No two users get the same number, and no communication is necessary.
func (u *User) turn(c *cell) uint64 {
	if c.buf == nil {
		c.buf = make([]byte, 0, 20)
		c.index = u.id
		return c.index
	}
	c.index += u.of
	return c.index
}

// appendUUID appends a UUID of version 4, RFC 9562, section 5.4.
func (u *User) appendUUID(dst []byte) []byte {
	high, low := u.random.Uint64(), u.random.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			dst = append(dst, '-')
		}
		word := high
		if i >= 16 {
			word = low
		}
		dst = append(dst, "0123456789abcdef"[word>>(60-4*(i%16))&15])
	}
	return dst
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// variables compiles all variables, JWTs last, because they refer to others.
func (c *compiler) variables(all named[variable]) {
	for _, tokens := range []bool{false, true} {
		for i := range all {
			if e := &all[i]; (e.value.JWT != nil) == tokens && c.name(e.name, e.line, "variable") && !c.variable(e.name, &e.value) {
				c.broken[e.name] = true
			}
		}
	}
}

// name rejects names that cannot be referred to, or are already in use.
func (c *compiler) name(name string, line int, what string) bool {
	if !isName(name) {
		c.fail(line, "use letters, digits, - and _, and begin with a letter", "%s %q: the name cannot be used in ${...}", what, name)
		return false
	}
	if builtin[name].name != "" {
		c.fail(line, "choose another name; vu is the number of the virtual user, iteration is the number of its iteration", "%s %q: the name is taken", what, name)
		return false
	}
	if _, ok := c.slots[name]; ok {
		c.fail(line, "choose another name", "%s %q: the name is taken by a variable", what, name)
		return false
	}
	return true
}

// variable compiles a variable, and reports whether it is valid.
func (c *compiler) variable(name string, v *variable) bool {
	errs := len(c.errs)
	kinds := []string{"value", "counter", "int", "uuid", "string", "choice", "csv", "jwt"}
	given := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !v.has(k) })
	if len(given) != 1 {
		// If the only key is unknown or invalid, that has been reported already.
		if len(given) > 1 || !c.reported("variables."+name) {
			c.fail(v.Line, "write one of "+strings.Join(kinds, ", "), "variable %q has %d kinds", name, len(given))
		}
		return false
	}
	s := slot{name: name}
	switch v.Per.or("") {
	case "iteration":
	case "":
		if v.JWT != nil {
			s.per = request
		}
	case "request":
		s.per = request
	case "user":
		s.per = user
	default:
		c.fail(v.Per.node.line, "write per: iteration, request or user", "variable %q: per %q", name, v.Per.s)
	}
	if c.source(&s, v) {
		c.slots[name] = c.slot(s)
	}
	return len(c.errs) == errs
}

// reported reports whether there is an error for a place of the file, or within it.
func (b *binder) reported(what string) bool {
	return slices.ContainsFunc(b.errs, func(e *Error) bool {
		return strings.HasPrefix(e.What, what+":") || strings.HasPrefix(e.What, what+".")
	})
}

// plain returns a text that is used unchanged: $${ in it becomes ${, and a reference is an
// error.
func (c *compiler) plain(name string, t text) []byte {
	parts, bad := splitTemplate(t.s)
	var out []byte
	for _, p := range parts {
		if p.name != "" {
			c.fail(t.node.line, fmt.Sprintf("write ${%s} in place of ${%s}, or $${ for ${ itself", p.name, name), "variable %q: %s: the value of a variable cannot contain another", name, excerpt(t.s))
			return nil
		}
		out = append(out, p.literal...)
	}
	if bad != nil {
		c.fail(t.node.line, "write $${ for ${ itself", "variable %q: %s: the value of a variable cannot contain another", name, excerpt(t.s))
	}
	return out
}

// has reports whether the field with that key is given.
func (v *variable) has(name string) (given bool) {
	collect(reflect.ValueOf(v).Elem(), func(k string, field reflect.Value) {
		given = given || k == name && !field.IsZero()
	})
	return given
}

// source fills in the part of a slot that depends on the variable's kind.
func (c *compiler) source(s *slot, v *variable) bool {
	errs := len(c.errs)
	switch {
	case v.Value.given():
		s.source, s.value = fixed, c.plain(s.name, v.Value)
	case v.Counter != nil:
		s.source, s.start, s.step = count, v.Counter.Start, v.Counter.Step
	case v.Int != nil:
		if v.Int.Min > v.Int.Max {
			c.fail(v.Line, "write {min: 1, max: 100}, or [1, 100]", "variable %q: min %d is above max %d", s.name, v.Int.Min, v.Int.Max)
		}
		s.source, s.start = integer, v.Int.Min
		s.span = uint64(v.Int.Max) - uint64(v.Int.Min) + 1
	case v.UUID.given():
		s.source = uuid
		if v.UUID.s != "v4" {
			c.fail(v.UUID.node.line, "write uuid: v4", "variable %q: version %q", s.name, v.UUID.s)
		}
	case v.String != nil:
		s.source, s.length = letters, int(v.String.Length)
		if v.String.Length < 1 || v.String.Length > 1<<20 {
			c.fail(v.Line, "write string: {length: 16}", "variable %q: length %d is not between 1 and 1048576", s.name, v.String.Length)
		}
		for _, r := range v.String.Alphabet.or(alphanumeric) {
			s.choices = append(s.choices, utf8.AppendRune(nil, r))
		}
		if len(s.choices) == 0 {
			c.fail(v.Line, "remove alphabet for letters and digits", "variable %q: an empty alphabet", s.name)
		}
	case v.Choice != nil:
		s.source = choice
		for _, t := range v.Choice {
			s.choices = append(s.choices, c.plain(s.name, t))
		}
	case v.CSV != nil:
		s.source = row
		c.csv(s, v)
	default:
		s.source = signed
		s.token = c.token(s.name, v.JWT)
	}
	return len(c.errs) == errs
}

// csv reads a table. The first line contains the names of the columns.
func (c *compiler) csv(s *slot, v *variable) {
	spec := v.CSV
	if spec.File.s == "" {
		c.fail(v.Line, "write csv: users.csv", "variable %q: no file", s.name)
		return
	}
	switch spec.Order.or("sequence") {
	case "sequence":
	case "random":
		s.shuffled = true
	default:
		c.fail(spec.Order.node.line, "write order: sequence or random", "variable %q: order %q", s.name, spec.Order.s)
	}
	data, ok := c.read(spec.File)
	if !ok {
		return
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	separator, size := utf8.DecodeRuneInString(spec.Separator.or(","))
	if size != len(spec.Separator.or(",")) || separator == '"' || separator == '\n' || separator == '\r' || separator == utf8.RuneError {
		c.fail(spec.Separator.node.line, `write one character, such as ";" or "\t"`, "variable %q: separator %q", s.name, spec.Separator.s)
		return
	}
	r.Comma = separator
	rows, err := r.ReadAll()
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		c.errs = append(c.errs, &Error{File: c.path(spec.File.s), Line: bad.Line, What: bad.Err.Error(), Do: "give every row as many columns as the first line names, and quote values that contain the separator"})
	case err != nil:
		c.fail(spec.File.node.line, "check the file", "%s: %v", spec.File.s, err)
	case len(rows) < 2:
		c.fail(spec.File.node.line, "name the columns in the first line, and put at least one row below", "%s contains no rows", spec.File.s)
	default:
		s.table = &table{file: spec.File.s, columns: rows[0], rows: rows[1:]}
	}
}

// column returns the index of a column of a slot's table.
func (s *slot) column(name string) (int32, error) {
	at := slices.Index(s.table.columns, name)
	if at < 0 || at > math.MaxInt32 {
		return 0, fmt.Errorf("%s has no column %q", s.table.file, name)
	}
	return int32(at), nil
}

// tags compiles the tags of a target: those of defaults, then of its scenario and flow, then its
// own. Of two with the same name the later one is used.
func (c *compiler) tags(owner, own tags) []Tag {
	values := map[string]string{}
	for _, e := range slices.Concat(c.defaults.Tags, owner, own) {
		switch {
		case !isName(e.name):
			c.fail(e.line, "use letters, digits, - and _, and begin with a letter", "tag %q", e.name)
		case e.value.s == "" || strings.ContainsAny(e.value.s, "{}") || strings.ContainsFunc(e.value.s, unicode.IsControl):
			c.fail(e.line, "write a word without braces; tags have no variables", "tag %s: %q", e.name, e.value.s)
		}
		values[e.name] = e.value.s
	}
	var list []Tag
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, Tag{name, values[name]})
	}
	return list
}
