package clock

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

func TestDate(t *testing.T) {
	got, err := http.ParseTime(string(Date()))
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(got); d < -time.Second || d > time.Minute {
		t.Errorf("Date is %v off", d)
	}
	if len(Date()) != 29 {
		t.Errorf("Date has %d bytes", len(Date()))
	}
	before := string(Date())
	for end := time.Now().Add(2 * time.Minute); string(Date()) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("Date stands still")
		}
	}
}

// TestUnattended wants the clock to be right when nobody refreshes it, and to
// stand still between refreshes when somebody does.
func TestUnattended(t *testing.T) {
	a := Nano()
	time.Sleep(2 * time.Millisecond)
	if b := Nano(); b < a+int64(2*time.Millisecond) {
		t.Errorf("%d ns have passed, want 2 ms or more", b-a)
	}
	entered := Enter()
	time.Sleep(2 * time.Millisecond)
	if n := Nano(); n != entered {
		t.Errorf("the clock advances by itself, by %d ns", n-entered)
	}
	if r := Refresh(); r <= entered || Nano() != r {
		t.Errorf("Refresh returns %d after %d, Nano is %d", r, entered, Nano())
	}
	Leave()
}

func TestScale(t *testing.T) {
	Enter()
	defer Leave()
	for _, c := range []struct {
		d    time.Duration
		want int64
	}{
		{0, Nano()},
		{time.Hour, Nano() + int64(time.Hour)},
		{-1, Nano() - 1},
		{-1 << 62, 1},
		{1<<63 - 1, 1<<63 - 1},
	} {
		if n := After(c.d); n != c.want {
			t.Errorf("after %v it is %d, want %d", c.d, n, c.want)
		}
	}
	if !Time(0).IsZero() {
		t.Error("never is not 0")
	}
	if got := Time(Nano()); !got.Equal(Now()) {
		t.Errorf("%v is %v", Now(), got)
	}
	if d := time.Since(Now()); d < -time.Minute || d > time.Minute {
		t.Errorf("Now is %v off", d)
	}
}

func TestRefreshConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				second.Store(0)
				Refresh()
				if len(Date()) != 29 {
					t.Error("Date is torn")
				}
			}
		})
	}
	wg.Wait()
}

// A model is a timer as the wheel should treat it.
type model struct {
	Entry
	due int64 // 0 when it is not set
}

// TestWheel compares the wheel with a plain list, at random.
func TestWheel(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		var w Wheel
		entries := make([]model, 50)
		now := int64(seed) * int64(time.Hour)
		for range 3000 {
			e := &entries[r.IntN(len(entries))]
			switch r.IntN(4) {
			case 0, 1:
				e.due = now + r.Int64N(int64(20*time.Millisecond)<<r.IntN(14))
				w.Add(&e.Entry, e.due, now)
			case 2:
				e.due = 0
				w.Remove(&e.Entry)
			case 3:
				now += r.Int64N(int64(10*time.Millisecond) << r.IntN(14))
				popAll(t, &w, entries, now)
			}
			if e.Set() != (e.due != 0) {
				t.Fatalf("seed %d: Set is %v", seed, e.Set())
			}
			checkNext(t, &w, entries, now)
		}
	}
}

// popAll pops what is due, as a loop does, and checks that nothing is missing.
// Entries that come early, as they are further away than the wheel is long, are
// put back.
func popAll(t *testing.T, w *Wheel, entries []model, now int64) {
	t.Helper()
	for {
		p := w.Pop(now)
		if p == nil {
			break
		}
		for i := range entries {
			e := &entries[i]
			if &e.Entry != p {
				continue
			}
			if e.due > now {
				w.Add(p, e.due, now)
			} else {
				e.due = 0
			}
		}
	}
	for i := range entries {
		if e := &entries[i]; e.due != 0 && e.due+int64(Slot) <= now {
			t.Fatalf("an entry is %v late", time.Duration(now-e.due))
		}
	}
}

// checkNext wants Next to be soon enough for all entries, and Len to be right.
func checkNext(t *testing.T, w *Wheel, entries []model, now int64) {
	t.Helper()
	n := 0
	for i := range entries {
		e := &entries[i]
		if e.due == 0 {
			continue
		}
		n++
		if next := w.Next(); next == 0 || next > max(e.due, now)+int64(Slot) {
			t.Fatalf("next is %v after an entry is due", time.Duration(next-e.due))
		}
	}
	if n != w.Len() {
		t.Fatalf("%d entries, Len is %d", n, w.Len())
	}
	if n == 0 && w.Next() != 0 {
		t.Fatal("an empty wheel has something to come")
	}
}

func BenchmarkNano(b *testing.B) {
	Enter()
	defer Leave()
	for b.Loop() {
		Nano()
	}
}

func BenchmarkRefresh(b *testing.B) {
	for b.Loop() {
		Refresh()
	}
}

func BenchmarkWheel(b *testing.B) {
	var w Wheel
	var e [64]Entry
	now := int64(1 << 40)
	i := 0
	for b.Loop() {
		w.Add(&e[i&63], now+int64(i&1023)<<24, now)
		i++
	}
}
