package hpack

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// requestBlocks encodes requests of one connection, of which some lines change each time, and
// returns the block of each.
func requestBlocks(b testing.TB, n int) (blocks [][]byte) {
	var out bytes.Buffer
	e := oracle.NewEncoder(&out)
	for i := range n {
		out.Reset()
		for _, l := range requestLines {
			f := oracle.HeaderField{Name: l[0], Value: l[1]}
			switch f.Name {
			case ":path":
				f.Value = fmt.Sprintf("/api/v1/items/%d?fields=name,price", 48000+i)
				f.Sensitive = true // keeps it out of the table, as browsers do
			}
			if err := e.WriteField(f); err != nil {
				b.Fatal(err)
			}
		}
		blocks = append(blocks, bytes.Clone(out.Bytes()))
	}
	return blocks
}

// BenchmarkDecode decodes requests as a browser sends them on one connection: 14 lines, of
// which one changes. One operation is one request.
func BenchmarkDecode(b *testing.B) {
	blocks := requestBlocks(b, 1000)
	b.Run("ours", func(b *testing.B) {
		var d Decoder
		d.Init(defaultTable)
		var text []byte
		var fields []Field
		b.ReportAllocs()
		for i := range b.N {
			var err error
			if text, fields, _, err = d.Decode(blocks[min(i, 1+i%999)], text[:0], fields[:0], 1<<16, 100); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("oracle", func(b *testing.B) {
		d := oracle.NewDecoder(defaultTable, func(oracle.HeaderField) {})
		b.ReportAllocs()
		for i := range b.N {
			if _, err := d.Write(blocks[min(i, 1+i%999)]); err != nil || d.Close() != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHuffman decodes and encodes one string.
func BenchmarkHuffman(b *testing.B) {
	for _, s := range []string{"no-cache", requestLines[4][1], strings.Repeat(requestLines[4][1], 20)} {
		code := oracle.AppendHuffmanString(nil, s)
		name := fmt.Sprintf("%d", len(s))
		b.Run("decode/"+name+"/ours", func(b *testing.B) {
			text := make([]byte, 0, huffmanRoom(len(code)))
			for b.Loop() {
				appendHuffmanDecoded(text, code)
			}
		})
		b.Run("decode/"+name+"/oracle", func(b *testing.B) {
			for b.Loop() {
				if _, err := oracle.HuffmanDecode(io.Discard, code); err != nil {
					b.Fatal(err)
				}
			}
		})
		text := make([]byte, 0, 2*len(s))
		b.Run("encode/"+name+"/ours", func(b *testing.B) {
			for b.Loop() {
				appendShorter(text, s)
			}
		})
		b.Run("encode/"+name+"/raw", func(b *testing.B) {
			for b.Loop() {
				appendString(text, s)
			}
		})
		b.Run("encode/"+name+"/oracle", func(b *testing.B) {
			for b.Loop() {
				oracle.AppendHuffmanString(text, s)
			}
		})
	}
}

// answers are the lines of an answer that has few and of one that has many.
var answers = map[string][][2]string{
	"few":  responseLines[:3],
	"many": responseLines[:8],
}

// BenchmarkEncode encodes answers on one connection. Content-Length and X-Request-Id change
// every time. With no table, the peer allows none.
func BenchmarkEncode(b *testing.B) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint(1000 + i)
	}
	for _, size := range []string{"few", "many"} {
		lines := answers[size]
		for _, limit := range []uint32{encoderTable, 0} {
			b.Run(fmt.Sprintf("%s/ours/table=%d", size, limit), func(b *testing.B) {
				var e Encoder
				e.Init()
				e.SetPeerTable(limit)
				block := make([]byte, 0, 1024)
				b.ReportAllocs()
				for i := range b.N {
					block = e.Status(e.Begin(block[:0]), 200)
					for _, l := range lines {
						if l[0] == "Content-Length" {
							l[1] = ids[i%len(ids)]
						}
						block = e.Field(block, l[0], l[1])
					}
				}
				b.ReportMetric(float64(len(block)), "bytes")
			})
		}
		b.Run(size+"/oracle", func(b *testing.B) {
			var out bytes.Buffer
			e := oracle.NewEncoder(&out)
			b.ReportAllocs()
			for i := range b.N {
				out.Reset()
				_ = e.WriteField(oracle.HeaderField{Name: ":status", Value: "200"})
				for _, l := range lines {
					f := oracle.HeaderField{Name: strings.ToLower(l[0]), Value: l[1]}
					if l[0] == "Content-Length" {
						f.Value = ids[i%len(ids)]
					}
					_ = e.WriteField(f)
				}
			}
			b.ReportMetric(float64(out.Len()), "bytes")
		})
	}
}
