package h2

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// answers are header blocks of typical answers: eight fields, of which the length, the etag
// and an id differ each time, so that entries of the table are evicted.
func answers(b *testing.B, n int) (blocks [][]byte) {
	b.Helper()
	var text bytes.Buffer
	e := hpack.NewEncoder(&text)
	for i := range n {
		text.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":status", Value: "200"},
			{Name: "date", Value: fmt.Sprintf("Sun, 22 Nov 2026 15:04:%02d GMT", i/1000%60)},
			{Name: "content-type", Value: "application/json; charset=utf-8"},
			{Name: "content-length", Value: fmt.Sprint(1000 + i%97)},
			{Name: "cache-control", Value: "no-cache, no-store, must-revalidate"},
			{Name: "server", Value: "nginx/1.26.3"},
			{Name: "etag", Value: fmt.Sprintf(`"%08x"`, i*2654435761)},
			{Name: "x-request-id", Value: fmt.Sprintf("%032x", i)},
		} {
			if err := e.WriteField(f); err != nil {
				b.Fatal(err)
			}
		}
		blocks = append(blocks, bytes.Clone(text.Bytes()))
	}
	return blocks
}

// BenchmarkHPACK decodes the header blocks of answers, with this package and with
// golang.org/x/net/http2/hpack: docs/adr/0016 has the figures.
func BenchmarkHPACK(b *testing.B) {
	const blocks = 4096
	in := answers(b, blocks)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		c, err := NewClient(Settings{})
		if err != nil {
			b.Fatal(err)
		}
		var d *decoder
		for i := range b.N {
			if i%blocks == 0 {
				d = &c.New(&record{}).decoder
			}
			if d.decode(in[i%blocks], false) != 0 || d.head.Status != 200 {
				b.Fatal(d.wrong)
			}
		}
	})
	b.Run("x/net", func(b *testing.B) {
		b.ReportAllocs()
		fields := 0
		var d *hpack.Decoder
		for i := range b.N {
			if i%blocks == 0 {
				d = hpack.NewDecoder(4096, func(hpack.HeaderField) { fields++ })
			}
			if _, err := d.Write(in[i%blocks]); err != nil {
				b.Fatal(err)
			}
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
		}
		if fields != 8*b.N {
			b.Fatal(fields)
		}
	})
}
