package hpack

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// oracleLines decodes a block with the other implementation.
func oracleLines(d *oracle.Decoder, block []byte) (lines []string, err error) {
	fields, err := d.DecodeFull(block)
	for _, f := range fields {
		line := f.Name + ": " + f.Value
		if f.Sensitive {
			line += " (sensitive)"
		}
		lines = append(lines, line)
	}
	return lines, err
}

// FuzzDecode gives blocks to both decoders. Each input is several blocks of one connection,
// separated by their lengths.
func FuzzDecode(f *testing.F) {
	add := func(blocks ...[]byte) {
		var input []byte
		for _, b := range blocks {
			input = append(append(input, byte(len(b))), b...)
		}
		f.Add(input)
	}
	for _, l := range literals {
		add(unhex(f, l.block))
	}
	for _, test := range invalidBlocks {
		add(unhex(f, test.block))
	}
	var b bytes.Buffer
	e := oracle.NewEncoder(&b)
	var blocks [][]byte
	for range 3 {
		b.Reset()
		for _, l := range responseLines {
			if err := e.WriteField(oracle.HeaderField{Name: l[0], Value: l[1]}); err != nil {
				f.Fatal(err)
			}
		}
		blocks = append(blocks, bytes.Clone(b.Bytes()))
	}
	add(blocks...)
	add(unhex(f, "3fe11f 20 3fe11f"), unhex(f, "20 3f e1 1f 82"), unhex(f, "8220"))
	f.Fuzz(func(t *testing.T, input []byte) {
		theirs := oracle.NewDecoder(defaultTable, nil)
		var d, tight Decoder
		d.Init(defaultTable)
		tight.Init(defaultTable)
		for n := 0; len(input) > 0 && n < 20; n++ {
			end := min(1+int(input[0]), len(input))
			block := input[1:end]
			input = input[end:]
			want, wantErr := oracleLines(theirs, block)
			text, fields, over, err := d.Decode(block, nil, nil, 1<<30, 1<<30)
			if over {
				t.Fatal("over a limit that is larger than what there is")
			}
			if err == nil && wantErr != nil || err != nil && wantErr == nil && !stricter(err) {
				t.Fatalf("block %x: %v, the oracle says %v", block, err, wantErr)
			}
			limit := len(text) / 2
			tightText, tightFields, tightOver, tightErr := tight.Decode(block, nil, nil, limit, 3)
			if err != tightErr {
				t.Fatalf("block %x: %v, with limits %v", block, err, tightErr)
			}
			if err != nil {
				return
			}
			got := decoded(text, fields)
			if !slices.Equal(got, want) {
				t.Fatalf("block %x: %q, the oracle says %q", block, got, want)
			}
			part := decoded(tightText, tightFields)
			if len(part) > 3 || len(tightText) > limit || !slices.Equal(part, got[:len(part)]) || tightOver != (len(part) < len(got)) {
				t.Fatalf("block %x: %q within the limits, of %q; over %v", block, part, got, tightOver)
			}
			if a, b := d.table.contents(), tight.table.contents(); !slices.Equal(a, b) || d.table.size != tight.table.size {
				t.Fatalf("tables differ after a block that is over the limits: %q and %q", a, b)
			}
			checkIndices(t, text, fields)
		}
	})
}

// checkIndices checks that the indices of fields are those of their names.
func checkIndices(t *testing.T, text []byte, fields []Field) {
	for _, f := range fields {
		want := slices.IndexFunc(staticLines[:], func(l struct{ name, value string }) bool { return l.name == string(f.Name.Of(text)) }) + 1
		if int(f.Index) != want {
			t.Fatalf("index %d for %q, want %d", f.Index, f.Name.Of(text), want)
		}
	}
}

// stricter reports whether an error is one that the oracle does not have: integers of more
// than 28 bits, and size updates that are out of place or too many.
func stricter(err error) bool {
	return errors.Is(err, ErrInteger) || errors.Is(err, ErrUpdate)
}

// FuzzEncode encodes what the input describes and has the oracle decode it. It also compares
// the tables of our encoder and decoder.
func FuzzEncode(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x10\x20\x30\x40\x50\x60\xff\x00\x10\x20\x30\xff"))
	f.Add(uint64(7), bytes.Repeat([]byte("\x01\x11\x21\xff"), 40))
	f.Add(uint64(9), bytes.Repeat([]byte("\x01\x11\xfe\x21\xff\xfd\x01\xff"), 40))
	f.Fuzz(func(t *testing.T, seed uint64, program []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		var e Encoder
		e.Init()
		var d Decoder
		d.Init(1 << 20)
		theirs := oracle.NewDecoder(defaultTable, nil)
		theirs.SetAllowedMaxDynamicTableSize(1 << 20)
		block := e.Begin(nil)
		var want []string
		for _, c := range program[:min(len(program), 500)] {
			switch {
			case c == 0xff:
				checkBlock(t, &e, &d, theirs, block, want)
				block, want = e.Begin(block[:0]), nil
			case c == 0xfe || c == 0xfd:
				e.SetPeerTable(random.Uint32N(8192 >> (c & 1 * 6)))
			case c >= 0xf0:
				code := 100 + random.IntN(500)
				block = e.Status(block, code)
				want = append(want, ":status: "+string([]byte{'0' + byte(code/100), '0' + byte(code/10%10), '0' + byte(code%10)}))
			default:
				name, value := fuzzLine(random, c)
				if c&1 == 0 {
					block = e.Field(block, name, value)
				} else {
					block = e.Bytes(block, name, []byte(value))
				}
				line := strings.ToLower(name) + ": " + value
				if secret(strings.ToLower(name), value) {
					line += " (sensitive)"
				}
				want = append(want, line)
			}
		}
		checkBlock(t, &e, &d, theirs, block, want)
	})
}

func secret(name, value string) bool {
	return name == "set-cookie" || name == "authorization" || name == "proxy-authorization" || name == "cookie" && len(value) < shortCookie
}

// fuzzLine makes a line of one of several kinds.
func fuzzLine(random *rand.Rand, c byte) (name, value string) {
	l := responseLines[int(c)%len(responseLines)]
	switch name, value = l[0], l[1]; c >> 4 {
	case 0, 1, 2, 3, 4:
	case 5, 6:
		value = strings.Repeat(string(rune('a'+random.IntN(3))), random.IntN(2000))
	case 7, 8:
		b := make([]byte, random.IntN(60))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		value = string(b)
	case 9, 10:
		name = staticLines[random.IntN(staticCount)].name
		value = staticLines[random.IntN(staticCount)].value
	default:
		name = "X-" + strings.Repeat("Long-", random.IntN(30)) + string(rune('A'+random.IntN(3)))
	}
	return name, value
}

// checkBlock decodes a block in both ways and compares it with what was encoded.
func checkBlock(t *testing.T, e *Encoder, d *Decoder, theirs *oracle.Decoder, block []byte, want []string) {
	t.Helper()
	lines, err := oracleLines(theirs, block)
	if err != nil || !slices.Equal(lines, want) {
		t.Fatalf("block %x is %q to the oracle, error %v, want %q", block, lines, err, want)
	}
	text, fields, over, err := d.Decode(block, nil, nil, 1<<30, 1<<30)
	if got := decoded(text, fields); err != nil || over || !slices.Equal(got, want) {
		t.Fatalf("block %x is %q, error %v, want %q", block, got, err, want)
	}
	if !slices.Equal(d.table.contents(), e.table.contents()) || d.table.size != e.table.size {
		t.Fatalf("table of the encoder %q, of the decoder %q", e.table.contents(), d.table.contents())
	}
}
