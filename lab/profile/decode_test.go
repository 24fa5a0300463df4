package profile

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gz.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// repeated returns a message n times, as a field of a profile.
func repeated(field protowire.Number, body []byte, n int) (out []byte) {
	one := protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), body)
	return bytes.Repeat(one, n)
}

func TestDecodeDamaged(t *testing.T) {
	var b bytes.Buffer
	if err := synthetic(1).Write(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	if p, err := Decode(whole); err != nil || len(p.Sample) != 5 {
		t.Fatalf("%v, %v", p, err)
	}
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"text":           []byte("heap profile: 1: 2 [3: 4] @ heap/1\n"),
		"half":           whole[:len(whole)/2],
		"gzip of little": packed(t, []byte{0xff}),
		"two in one":     append(slices.Clone(whole), whole...),
	} {
		if p, err := Decode(data); err == nil {
			t.Errorf("%s: %v", name, p)
		} else if !strings.Contains(err.Error(), "parse profile of") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large profile of an honest program is no bomb.
func TestDecodeLarge(t *testing.T) {
	p := synthetic(1)
	for i := range 100_000 {
		f := &profile.Function{ID: uint64(10 + i), Name: "some/package.function"}
		l := &profile.Location{ID: uint64(10 + i), Address: uint64(i), Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: slices.Repeat([]*profile.Location{l}, 30), Value: []int64{1, 1}})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(b.Bytes()); err != nil || len(got.Sample) != 100_005 {
		t.Errorf("%v", err)
	}
}

func TestWindow(t *testing.T) {
	want := Window{Seconds: 2.5, Requests: 12345, Module: "example.org/shop", Command: "profile --load x", Notes: []string{"one", "two"}}
	p := synthetic(1)
	p.Comments = []string{"of another tool"}
	Window{Seconds: 9, Notes: []string{"old"}}.Mark(p)
	want.Mark(p)
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Decode(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := WindowOf(again)
	if err != nil || got.Seconds != want.Seconds || got.Requests != want.Requests || got.Module != want.Module || got.Command != want.Command || !slices.Equal(got.Notes, want.Notes) {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Rate() != 4938 || again.Comments[0] != "of another tool" || len(again.Comments) != 7 {
		t.Errorf("rate %v, comments %q", got.Rate(), again.Comments)
	}
	if w, err := WindowOf(&profile.Profile{DurationNanos: 3e9}); err != nil || w.Seconds != 3 || w.Requests != 0 || w.Rate() != 0 {
		t.Errorf("%+v, %v", w, err)
	}
	for _, comment := range []string{"redline requests=x", "redline requests=-1", "redline seconds=NaN", "redline requests=1e99", "redline seconds=0"} {
		if w, err := WindowOf(&profile.Profile{Comments: []string{comment}}); err == nil {
			t.Errorf("%s: %+v", comment, w)
		}
	}
	if w, err := WindowOf(&profile.Profile{Comments: []string{"redline module=a\x1b[31m" + strings.Repeat("b", 5000)}}); err != nil || len(w.Module) > 2*maxText || strings.Contains(w.Module, "\x1b") {
		t.Errorf("%+v, %v", w, err)
	}
}

// FuzzDecode has no data that makes Decode panic, and accepts only what it can write again.
func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	if err := synthetic(1).Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	var plain bytes.Buffer
	if err := synthetic(1).WriteUncompressed(&plain); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(repeated(fieldSample, nil, 3))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		if _, err := WindowOf(p); err != nil {
			return
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatalf("%v", err)
		}
		if _, err := Decode(out.Bytes()); err != nil {
			t.Fatalf("it cannot be read again: %v", err)
		}
	})
}
