package tally

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"
)

// Merged deltas are the histogram of the samples, bucket by bucket.
func TestExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	c, want, got := NewDelta(), DeltaHistogram(), DeltaHistogram()
	edges := []int64{0, 1, 2, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 1<<41 - 1, 1 << 41, 3600e9, 1<<last - 1}
	for range 20 {
		for range 500 {
			ns := int64(1) << random.IntN(last)
			ns += random.Int64N(ns)
			edges = append(edges, ns)
		}
		for _, ns := range edges {
			n := 1 + random.IntN(300)
			c.Add(ns, n)
			if err := want.RecordValues(max(ns, 1), int64(n)); err != nil {
				t.Fatal(err)
			}
		}
		edges = edges[:0]
		if err := MergeDelta(got, c.Take()); err != nil {
			t.Fatal(err)
		}
	}
	if !got.Equals(want) || got.TotalCount() != want.TotalCount() {
		t.Errorf("%d samples of %d, p50 %d and %d", got.TotalCount(), want.TotalCount(), got.ValueAtQuantile(50), want.ValueAtQuantile(50))
	}
	if empty := c.Take(); empty == "" || MergeDelta(got, empty) != nil || !got.Equals(want) {
		t.Errorf("an empty delta is %q", empty)
	}
}

func TestBeyondTheRange(t *testing.T) {
	c, got := NewDelta(), DeltaHistogram()
	c.Add(1<<62, 1)
	c.Add(-5, 1)
	if err := MergeDelta(got, c.Take()); err != nil || got.TotalCount() != 2 || got.Min() != 1 || got.Max() < 1<<last-1<<33 {
		t.Errorf("%v, %d values from %d to %d", err, got.TotalCount(), got.Min(), got.Max())
	}
}

func TestReset(t *testing.T) {
	c, got := NewDelta(), DeltaHistogram()
	c.Add(77, 3)
	c.Reset()
	c.Add(78, 1)
	if err := MergeDelta(got, c.Take()); err != nil || got.TotalCount() != 1 {
		t.Errorf("%v, %d values", err, got.TotalCount())
	}
}

func TestDamaged(t *testing.T) {
	for _, text := range []string{"", "!", "AQ==", raw(1, 5), raw(2, 5, 1), raw(1, buckets, 1), raw(1, 1<<62, 1), raw(0, 1), raw(1<<62, 1, 1), raw(1, 1, 1<<40)} {
		if err := MergeDelta(DeltaHistogram(), text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func raw(values ...uint64) string {
	var b []byte
	for _, v := range values {
		for ; v >= 0x80; v >>= 7 {
			b = append(b, byte(v)|0x80)
		}
		b = append(b, byte(v))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestAllocations(t *testing.T) {
	c := NewDelta()
	if n := testing.AllocsPerRun(100, func() { c.Add(123456, 1) }); n != 0 {
		t.Errorf("%v allocations for a sample", n)
	}
}
