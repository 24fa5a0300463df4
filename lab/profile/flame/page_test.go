package flame

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report/web"
)

func samples(t *testing.T, text string, requests float64) *tree.Samples {
	t.Helper()
	p := profiletest.Of("cpu", "nanoseconds", text)
	profile.Window{Seconds: 2, Requests: requests}.Mark(p)
	s, err := tree.Read(p, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, Page{Name: "cpu", Samples: samples(t, "main.main;main.<b>f 3000\nmain.main;net/http.g 1000\n", 2)}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	rest := strings.Replace(strings.Replace(text, web.FlameScript, "", 1), web.FlameStyle, "", 1)
	if len(text)-len(rest) != len(web.FlameScript)+len(web.FlameStyle) {
		t.Error("the page does not contain the bundle as it is")
	}
	for _, want := range []string{"4.00 µs in 2.00 s", "main.&lt;b&gt;f", ">1.50 µs<", "75.0 %", "user code", "default-src &#39;none&#39;"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, never := range []string{"main.<b>f", "http://", "https://", "src="} {
		if strings.Contains(rest, never) {
			t.Errorf("%q is in the page", never)
		}
	}
}

// The page of a very large profile has a bounded tree, and says so.
func TestWriteLarge(t *testing.T) {
	var text strings.Builder
	for i := range mostNodes + 10_000 {
		fmt.Fprintf(&text, "main.f%d %d\n", i, 1+i%100)
	}
	var b bytes.Buffer
	if err := Write(&b, Page{Name: "cpu", Samples: samples(t, text.String(), 0)}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "the 10001 smallest of 60001 nodes are left out") || b.Len() > 4<<20 {
		t.Errorf("a page of %d bytes", b.Len())
	}
}

func TestWriteDiff(t *testing.T) {
	before, after := samples(t, "main.f 10\nmain.gone 5\n", 5), samples(t, "main.f 30\n", 5)
	var b bytes.Buffer
	if err := Write(&b, Page{Name: "a and b", Samples: after, Before: before}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "before: cpu") || !strings.Contains(text, `"diff":true,"each":true`) {
		t.Error("it is no difference for each request")
	}
	f, _ := forestOf(after.Diff(before), true)
	if len(f.Symbols) != 3 || len(f.Before) != 3 || f.Symbols[0] != -1 || f.Before[0] != 15 || f.Totals[0] != 30 {
		t.Errorf("%+v", f)
	}
}

// The page says when stacks ran, if all samples tell; what is left out of the tree counts for its callers.
func TestWriteTimed(t *testing.T) {
	p := profiletest.Of("cpu", "nanoseconds", "main.main;main.f 30\nmain.main;main.f 20\nmain.main;main.g 10\n")
	for i, s := range p.Sample {
		s.NumLabel = map[string][]int64{profile.SliceLabel: {int64(i)}}
	}
	profile.Window{Seconds: 3, Slice: 1}.Mark(p)
	s, err := tree.Read(p, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, Page{Name: "cpu", Samples: s}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, `"slices":3,"slice":1`) || !strings.Contains(text, `id="strip"`) {
		t.Error("the page does not say when stacks ran")
	}
	calls := s.Calls()
	if got, want := ran(s, calls), []int64{2, 0, 30, 2, 1, 20, 3, 2, 10}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := ran(s, calls.Largest(3)), []int64{1, 2, 10, 2, 0, 30, 2, 1, 20}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.Sample[1].NumLabel = nil
	if s, err = tree.Read(p, 1, ""); err != nil || s.Slices != nil {
		t.Errorf("%v, %v", s.Slices, err)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	if err := Write(full{}, Page{Samples: samples(t, "f 1\n", 0)}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// The page says of which process the profile is, when it was taken, and how.
func TestTitle(t *testing.T) {
	s := samples(t, "main.main 3000\n", 0)
	s.Window.Process, s.Window.Command = "shop (process 4711)", "profile --pid 4711"
	s.Window.Taken = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	if err := Write(&b, Page{Name: "cpu", Samples: s}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>cpu of shop (process 4711)</title>", "shop (process 4711), taken 2026-01-02 03:04:05 UTC, by redline profile --pid 4711<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
