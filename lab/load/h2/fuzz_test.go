package h2

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// FuzzFeed feeds a connection anything that a server may send: it does not panic, its memory
// is bounded, the result is the same at once and in pieces, and the counts agree.
func FuzzFeed(f *testing.F) {
	for _, x := range exchanges {
		if len(x.in) < 1<<10 {
			f.Add(x.in, byte(7))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, step byte) {
		play := func(size int) (string, *Conn) {
			var rec record
			c := begun(t, Settings{Want: []string{"server"}, StreamWindow: 1000, HeaderList: 2000}, &rec, 3)
			c.AppendRequest(nil, request(t, 1, "POST", "/", []byte("x"), 100_000))
			rest := in
			var err error
			for len(rest) > 0 {
				n := min(size, len(rest))
				err = c.Feed(rest[:n])
				rest = rest[n:]
			}
			rec.flush()
			if typed, is := errors.AsType[*Error](err); err != nil && (!is || typed.Kind == 0 || typed.Kind >= Reset) {
				t.Fatalf("connection error %v", err)
			}
			ended := 0
			for _, e := range rec.events {
				var slot int
				var what string
				if _, err := fmt.Sscan(e, &slot, &what); err == nil && (what == "end" || what == "fail") {
					ended++
				}
			}
			if c.Active()+ended != 4 {
				t.Fatalf("%d active, %d ended of 4", c.Active(), ended)
			}
			// 16 KiB of a frame, 64 of a block, 16 of acknowledgements, 13 bytes per update of a small window.
			if n := cap(c.part) + cap(c.block) + cap(c.out) + cap(c.last) + cap(c.decoder.table.arena); n > 300<<10+len(in) {
				t.Fatalf("%d bytes kept of %d", n, len(in))
			}
			return fmt.Sprintf("%q %v", rec.events, err), c
		}
		whole, c := play(len(in) + 1)
		pieces, d := play(int(step) + 1)
		if whole != pieces {
			t.Fatalf("at once: %s\nin pieces: %s", whole, pieces)
		}
		if a, b := frames(t, c.AppendPending(nil, 1<<20)), frames(t, d.AppendPending(nil, 1<<20)); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("at once: %q\nin pieces: %q", a, b)
		}
	})
}

// FuzzDecode compares our decoder with another: they agree on which blocks are
// valid, and on the fields.
func FuzzDecode(f *testing.F) {
	f.Add(fields(":status", "200", "server", "x"), fields(":status", "404"))
	f.Add([]byte{0x40, 1, 'a', 1, 'b', 0xbe, 0x20}, []byte{0x3f, 0xe1, 0x1f, 0x88})
	f.Add([]byte{0x48, 0x82, 0x64, 0x02}, []byte{0xbe, 0x7e, 0x85, 0xae, 0xc3, 0x77, 0x1a, 0x4b})
	f.Add([]byte{'H', 0x82, '0', 'A'}, []byte{0x3f, 0x3f, 0x3e, 'H', 0x82, '0', 'C'})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		names := []string{"server", "a", "date"}
		c := client(t, Settings{Want: names, HeaderList: 1 << 30}).New(&record{})
		other := hpack.NewDecoder(tableSize, nil)
		other.SetAllowedMaxDynamicTableSize(tableSize)
		for _, block := range [][]byte{first, second} {
			list, err := other.DecodeFull(block)
			problem := c.decoder.decode(block, false)
			if (problem != 0) != (err != nil) {
				if err == nil && strict(block) {
					return
				}
				// Two changes of the size in a row are as RFC 7541, section 4.2, has them.
				if err != nil && strings.Contains(err.Error(), "size update MUST occur") {
					return
				}
				t.Fatalf("%x: %v, but %v", block, problem, err)
			}
			if err != nil {
				return
			}
			want := map[string]string{}
			for _, f := range list {
				if _, seen := want[f.Name]; !seen {
					want[f.Name] = f.Value
				}
			}
			for i, name := range names {
				value, there := want[name]
				if got := c.decoder.head.values[i]; there != (got != nil) || string(got) != value {
					t.Fatalf("%x: %s is %q, want %q", block, name, got, value)
				}
			}
		}
	})
}

// strict reports whether a block breaks one of the rules that the other decoder does not
// check: an integer has no more bytes than the largest allowed one, and the table's size
// changes only before the first field.
func strict(block []byte) bool {
	long := false
	number := func(bits uint) int {
		before := block
		n, rest, valid := readInt(block, bits)
		if !valid {
			long = long || len(before) > 4
			rest = nil
		}
		block = rest
		return n
	}
	text := func() {
		if len(block) > 0 {
			n := number(7)
			block = block[min(n, len(block)):]
		}
	}
	for fields := 0; len(block) > 0; {
		switch c := block[0]; {
		case c&0x80 != 0:
			number(7)
			fields++
		case c&0xe0 == 0x20:
			if fields > 0 {
				return true
			}
			number(5)
		default:
			bits := uint(4)
			if c&0xc0 == 0x40 {
				bits = 6
			}
			if number(bits) == 0 {
				text()
			}
			text()
			fields++
		}
	}
	return long
}
