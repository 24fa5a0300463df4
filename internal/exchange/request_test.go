package exchange

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// fill makes a record of the lines "name: value" as a parser would.
func fill(r *Request, lines ...string) {
	r.Reset()
	r.Head = []byte(strings.Join(lines, ""))
	off := 0
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		r.Append(Field{
			Name:  Span{uint32(off), uint32(len(name))},
			Value: Span{uint32(off + len(name) + 1), uint32(len(value))},
			ID:    LookupHeader([]byte(name)),
		})
		off += len(line)
	}
}

func TestGetAndFind(t *testing.T) {
	var r Request
	fill(&r, "Host:a", "X-One:1", "accept:b", "Accept:c", "x-one:2", "X-[:x")
	for _, c := range []struct {
		id    HeaderID
		value string
		ok    bool
	}{{HeaderHost, "a", true}, {HeaderAccept, "b", true}, {HeaderCookie, "", false}, {HeaderOther, "", false}} {
		if value, ok := r.Get(c.id); string(value) != c.value || ok != c.ok || r.Has(c.id) != c.ok {
			t.Errorf("%v: %q, %v", c.id, value, ok)
		}
	}
	for _, c := range []struct {
		name, value string
		ok          bool
	}{{"HOST", "a", true}, {"X-ONE", "1", true}, {"X-{", "", false}, {"X-Two", "", false}, {"", "", false}} {
		if value, ok := r.Find(c.name); string(value) != c.value || ok != c.ok {
			t.Errorf("%q: %q, %v", c.name, value, ok)
		}
	}
	r.TrailerBytes = []byte("X-Sum: 5")
	r.Trailers = append(r.Trailers, Field{Name: Span{0, 5}, Value: Span{7, 1}})
	if value, ok := r.FindTrailer("x-sum"); string(value) != "5" || !ok {
		t.Errorf("trailer: %q, %v", value, ok)
	}
	if _, ok := r.FindTrailer("x-none"); ok {
		t.Error("a trailer that is not there")
	}
	if r.Reset(); r.Has(HeaderHost) || len(r.Fields)+len(r.Trailers)+len(r.TrailerBytes) != 0 || r.ContentLength != 0 {
		t.Errorf("after Reset: %+v", r)
	}
}

// TestBorrowedBytesDoNotGrow checks that an append to a value leaves the head alone.
func TestBorrowedBytesDoNotGrow(t *testing.T) {
	var r Request
	fill(&r, "Host:a", "X:b")
	value, _ := r.Get(HeaderHost)
	if _ = append(value, "!!!"...); string(r.Head) != "Host:aX:b" {
		t.Errorf("head is %q", r.Head)
	}
}

// TestAppendAllocs lets a record spill once, and never again.
func TestAppendAllocs(t *testing.T) {
	var r Request
	many := make([]string, 128)
	for i := range many {
		many[i] = fmt.Sprintf("X-%d:v", i)
	}
	fill(&r, many...)
	if value, ok := r.Find("x-127"); !ok || string(value) != "v" {
		t.Fatalf("%q, %v", value, ok)
	}
	f := r.Fields[5]
	if got := testing.AllocsPerRun(10, func() {
		r.Reset()
		for range 128 {
			r.Append(f)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
	var small Request
	if got := testing.AllocsPerRun(10, func() {
		small.Reset()
		for range inlineFields {
			small.Append(f)
		}
	}); got != 0 {
		t.Errorf("inline: %v allocations", got)
	}
}

func TestLimitsWithDefaults(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want Limits
	}{
		{"zeros", Limits{}, Limits{64 << 10, 128, 64 << 10, 32 << 20, 8 << 10, 256, 16 << 10}},
		{"a head alone", Limits{MaxHeadBytes: 9}, Limits{9, 128, 9, 32 << 20, 8 << 10, 256, 16 << 10}},
		{"set", Limits{1, 2, 3, 4, 5, 6, 7}, Limits{1, 2, 3, 4, 5, 6, 7}},
		{"no limit on bodies", Limits{1, 2, 3, -1, 5, 6, 7}, Limits{1, 2, 3, math.MaxInt64, 5, 6, 7}},
		{"too many fields", Limits{1, 1 << 20, 3, 4, 5, 6, 7}, Limits{1, math.MaxUint16, 3, 4, 5, 6, 7}},
	} {
		if got := c.got.WithDefaults(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if l := (Limits{}).WithDefaults(); l != l.WithDefaults() {
		t.Error("defaults change when applied again")
	}
}
