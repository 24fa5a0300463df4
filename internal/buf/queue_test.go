package buf

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// drain takes everything out of a queue in pieces of up to most bytes.
func drain(t *testing.T, q *Queue, most int) []byte {
	t.Helper()
	var got []byte
	for q.Len() > 0 {
		n := 0
		if f, off, size := q.NextFile(); f != nil {
			b := make([]byte, min(size, most))
			if _, err := f.ReadAt(b, off); err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
			n = len(b)
		} else {
			bufs := q.Buffers(make([][]byte, 0, 3))
			if len(bufs) == 0 || !bytes.Equal(bufs[0], q.First()) {
				t.Fatalf("%d bytes are left, Buffers has %d runs, First has %d bytes", q.Len(), len(bufs), len(q.First()))
			}
			for _, b := range bufs {
				b = b[:min(len(b), most-n)]
				got = append(got, b...)
				n += len(b)
			}
		}
		before := q.Len()
		q.Discard(n)
		if q.Len() != before-n {
			t.Fatalf("%d bytes are left of %d, %d were discarded", q.Len(), before, n)
		}
	}
	if q.First() != nil && len(q.First()) > 0 || len(q.Buffers(make([][]byte, 0, 3))) > 0 {
		t.Fatal("an empty queue has bytes")
	}
	return got
}

// fill puts random things into a queue and returns what they are.
func fill(q *Queue, r *rand.Rand, f *os.File, content []byte, done *int) (want []byte) {
	for range r.IntN(12) {
		n := r.IntN(1 << r.IntN(17))
		off := r.IntN(len(content) - n)
		p := content[off : off+n]
		switch r.IntN(6) {
		case 0:
			q.Commit(append(q.Tail(n), p...))
		case 1:
			q.Commit(append(q.Tail(n/2), p...)) // may have to move
		case 2:
			q.Write(p)
		case 3:
			q.WriteString(string(p))
		case 4:
			q.Ref(p)
		case 5:
			*done++
			q.File(f, int64(off), int64(n), func() { *done-- })
		}
		want = append(want, p...)
	}
	return want
}

func TestQueue(t *testing.T) {
	content := make([]byte, 1<<18)
	for i := range content {
		content[i] = byte(i ^ i>>8)
	}
	name := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		var q, other Queue
		done := 0
		for round := range 20 {
			want := fill(&q, r, f, content, &done)
			if r.IntN(3) == 0 {
				want = append(want, fill(&other, r, f, content, &done)...)
				q.Take(&other)
				if other.Len() != 0 {
					t.Fatalf("seed %d: Take leaves %d bytes", seed, other.Len())
				}
			}
			if q.Len() != len(want) {
				t.Fatalf("seed %d, round %d: %d bytes are in the queue, want %d", seed, round, q.Len(), len(want))
			}
			switch {
			case r.IntN(8) == 0:
				q.Reset()
			case r.IntN(8) == 0:
				q.Release()
			default:
				if got := drain(t, &q, 1+r.IntN(1<<r.IntN(18))); !bytes.Equal(got, want) {
					t.Fatalf("seed %d, round %d: wrong bytes, %d instead of %d", seed, round, len(got), len(want))
				}
			}
			if done != 0 {
				t.Fatalf("seed %d, round %d: %d files are not done with", seed, round, done)
			}
			if q.Len() != 0 || q.Held() > 1<<18 {
				t.Fatalf("seed %d, round %d: an empty queue has %d bytes and holds %d", seed, round, q.Len(), q.Held())
			}
		}
		q.Release()
		other.Release()
		if q.Held() != 0 || other.Held() != 0 {
			t.Fatalf("seed %d: released queues hold %d and %d bytes", seed, q.Held(), other.Held())
		}
	}
}

func TestRefIsNotCopied(t *testing.T) {
	for _, n := range []int{1, RefSize - 1, RefSize, 100 << 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var q Queue
			p := make([]byte, n)
			q.WriteString("x")
			q.Ref(p)
			p[0] = 1
			b := drain(t, &q, 1<<20)
			if copied := b[1] == 0; copied != (n < RefSize) {
				t.Errorf("copied: %v", copied)
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	var q Queue
	done := false
	q.File(nil, 0, 0, func() { done = true })
	if !done || q.Len() != 0 {
		t.Error("an empty range is not done with at once")
	}
	q.File(nil, 0, -1, nil)
	if q.Len() != 0 {
		t.Error("a negative range has bytes")
	}
}

func TestQueueIsWriter(t *testing.T) {
	var q Queue
	fmt.Fprintf(&q, "%d", 42)
	if _, err := io.WriteString(&q, "!"); err != nil || string(q.First()) != "42!" {
		t.Errorf("got %q, %v", q.First(), err)
	}
}

// TestAnswerAllocs pins the common case: an answer that is sent whole.
func TestAnswerAllocs(t *testing.T) {
	var q Queue
	answer := bytes.Repeat([]byte("x"), 100)
	if n := testing.AllocsPerRun(1000, func() {
		q.Commit(append(q.Tail(200), answer...))
		q.Discard(len(q.First()))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if q.Held() != ChunkSize {
		t.Errorf("holds %d bytes, want one chunk", q.Held())
	}
}

func TestGet(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1 << 14, 1<<14 + 1, 1 << 20, 1<<20 + 1} {
		b := Get(n)
		if len(b) != 0 || cap(b) < n {
			t.Errorf("Get(%d) has length %d, capacity %d", n, len(b), cap(b))
		}
		if c := cap(b); n > 0 && n <= 1<<maxShift && c != max(1<<minShift, c) || c >= 2*max(n, 1<<minShift) {
			t.Errorf("Get(%d) has capacity %d", n, c)
		}
		Put(append(b, 1))
	}
	Put(nil)
	Put(make([]byte, 700)) // of no pool's size
	if b := Get(600); cap(b) != 1024 {
		t.Errorf("Get(600) has capacity %d", cap(b))
	}
}

func TestGrow(t *testing.T) {
	b := append(Get(512), "hello"...)
	if g := Grow(b, 507); &g[0] != &b[0] {
		t.Error("Grow moves what has room")
	}
	g := Grow(b, 508)
	if string(g) != "hello" || cap(g) < 513 {
		t.Errorf("Grow returns %q with capacity %d", g, cap(g))
	}
	if g := Grow(nil, 10); len(g) != 0 || cap(g) < 10 {
		t.Errorf("Grow(nil) has length %d, capacity %d", len(g), cap(g))
	}
}

func BenchmarkAnswer(b *testing.B) {
	var q Queue
	answer := bytes.Repeat([]byte("x"), 100)
	b.ReportAllocs()
	for b.Loop() {
		q.Commit(append(q.Tail(200), answer...))
		q.Discard(len(q.First()))
	}
}

func BenchmarkHeaderAndBody(b *testing.B) {
	var q Queue
	head, body := bytes.Repeat([]byte("x"), 100), make([]byte, 10<<10)
	vec := make([][]byte, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		q.Commit(append(q.Tail(200), head...))
		q.Ref(body)
		n := 0
		for v := range slices.Values(q.Buffers(vec)) {
			n += len(v)
		}
		q.Discard(n)
	}
}

func BenchmarkTake(b *testing.B) {
	var q, other Queue
	b.ReportAllocs()
	for b.Loop() {
		other.WriteString("answer")
		q.Take(&other)
		q.Discard(q.Len())
	}
}

func TestQueueWhole(t *testing.T) {
	var q Queue
	want := func(s string) {
		t.Helper()
		if got := q.Whole(); string(got) != s {
			t.Errorf("Whole is %.20q (%d bytes), want %.20q", got, len(got), s)
		}
	}
	want("")
	q.WriteString("copied, ")
	q.Commit(append(q.Tail(10), "all"...))
	want("copied, all")
	q.Discard(len("copied, "))
	want("all")
	q.Ref(make([]byte, RefSize))
	want("") // not in one piece
	q.WriteString("behind")
	want("")
	q.Discard(3 + RefSize)
	want("behind")
	q.Write(bytes.Repeat([]byte("x"), 2*ChunkSize))
	want("")
	q.Release()
	want("")
}
