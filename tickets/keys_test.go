package tickets

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRotation issues a ticket every ten minutes for three days: each is accepted for a
// rotation at least, and for two at most.
func TestRotation(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("file: %v", shared), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o []KeysOption
				if shared {
					o = []KeysOption{File(filepath.Join(t.TempDir(), "keys"))}
				}
				k := newKeys(t, o...)
				var issued [][]byte // at every step
				const step = 10 * time.Minute
				for range 3 * 24 * time.Hour / step {
					issued = append(issued, k.seal(t))
					time.Sleep(step)
					for i, ticket := range issued {
						age := time.Duration(len(issued)-i) * step
						if got := k.accepts(ticket); age < 12*time.Hour && !got || age > 24*time.Hour+step && got {
							t.Fatalf("a ticket of %v is accepted: %v", age, got)
						}
					}
					if n := len(k.now.Load().keys); n > 3 {
						t.Fatalf("%d keys", n)
					}
				}
			})
		})
	}
}

// TestFleet shares a file between three configurations for two days, while one of them makes
// another key now and then. Every ticket is accepted by all, at every second around a change.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys")
		var fleet []*Keys
		for range 3 {
			fleet = append(fleet, newKeys(t, File(path)))
			time.Sleep(1700 * time.Millisecond) // their looks at the file differ
		}
		check := func() {
			t.Helper()
			for i, k := range fleet {
				ticket := k.seal(t)
				for j, other := range fleet {
					if !other.accepts(ticket) {
						t.Fatalf("process %d refuses a ticket of process %d", j, i)
					}
				}
			}
		}
		for hour := range 48 {
			for range 30 {
				check()
				time.Sleep(2 * time.Minute)
			}
			if hour%5 != 0 {
				continue
			}
			before := fleet[0].seal(t)
			if err := fleet[hour%3].Rotate(); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				check()
				time.Sleep(time.Second)
			}
			for i, k := range fleet {
				if [idSize]byte(k.seal(t)) == [idSize]byte(before) || !k.accepts(before) {
					t.Fatalf("process %d uses the same key after Rotate, or refuses tickets of before", i)
				}
			}
		}
	})
}

func TestFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal)
		var mu sync.Mutex
		var answer [][32]byte
		var failure error
		calls := 0
		set := func(secrets [][32]byte, err error) {
			mu.Lock()
			defer mu.Unlock()
			answer, failure = secrets, err
		}
		f := func(ctx context.Context) ([][32]byte, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the function's context has no deadline")
			}
			mu.Lock()
			defer mu.Unlock()
			calls++
			return answer, failure
		}
		a, b := [32]byte(newSecret()), [32]byte(newSecret())
		for _, bad := range [][][32]byte{nil, {{}}, {a, a}, make([][32]byte, 17)} {
			set(bad, nil)
			if k, err := NewKeys(Fetch(f)); err == nil {
				k.Close()
				t.Errorf("%d keys are accepted", len(bad))
			}
		}
		set([][32]byte{a}, nil)
		k := newKeys(t, Fetch(f), log.logger())
		first := k.seal(t)
		for _, next := range [][][32]byte{{a, b}, {b, a}} {
			set(next, nil)
			time.Sleep(DefaultInterval + time.Second)
			if !k.accepts(first) {
				t.Error("the first ticket is refused")
			}
		}
		second := k.seal(t)
		if [idSize]byte(second) == [idSize]byte(first) {
			t.Error("the first key does not encrypt")
		}
		broken := errors.New("no connection to the vault")
		set(nil, broken)
		time.Sleep(10 * time.Minute)
		if n := log.count(broken.Error()); n < 9 || n > 11 {
			t.Errorf("logged %d times in ten minutes: %s", n, log)
		}
		if err := k.Rotate(); !errors.Is(err, broken) {
			t.Errorf("Rotate: %v", err)
		}
		if !k.accepts(first) || !k.accepts(second) {
			t.Error("keys are gone after an error")
		}
		set([][32]byte{b}, nil)
		time.Sleep(DefaultInterval + time.Second)
		if k.accepts(first) || !k.accepts(second) || log.count("refreshed again") != 1 {
			t.Errorf("after the error: first key %v, second %v, log: %s", k.accepts(first), k.accepts(second), log)
		}
		mu.Lock()
		defer mu.Unlock()
		if calls < 100 {
			t.Errorf("%d calls", calls)
		}
	})
}

// TestCloseWhileFetching closes while the function waits for its context.
func TestCloseWhileFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets := [][32]byte{newSecret()}
		var calls atomic.Int64
		k := newKeys(t, Fetch(func(ctx context.Context) ([][32]byte, error) {
			if calls.Add(1) > 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return secrets, nil
		}))
		time.Sleep(DefaultInterval + time.Second)
		k.Close()
		k.Close()
		if ticket := k.seal(t); !k.accepts(ticket) || calls.Load() != 2 {
			t.Errorf("after Close: accepted %v, %d calls", k.accepts(ticket), calls.Load())
		}
	})
}

func TestKeysOptions(t *testing.T) {
	path := File(filepath.Join(t.TempDir(), "keys"))
	f := Fetch(func(context.Context) ([][32]byte, error) { return nil, errors.New("unused") })
	for _, c := range []struct {
		o    []KeysOption
		want string
	}{
		{[]KeysOption{Rotation(0)}, "rotation"},
		{[]KeysOption{Rotation(85 * time.Hour)}, "rotation"},
		{[]KeysOption{Interval(0)}, "interval"},
		{[]KeysOption{path, f}, "either"},
		{[]KeysOption{path, Ahead(time.Second)}, "before use"},
		{[]KeysOption{path, Ahead(7 * time.Hour)}, "before use"},
		{[]KeysOption{path, Rotation(20 * time.Second)}, "before use"},
		{[]KeysOption{f}, "unused"},
	} {
		k, err := NewKeys(c.o...)
		if err == nil {
			k.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ticket keys: ") {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}

// TestNothingPrintsKeys prints everything that holds keys in every usual way.
func TestNothingPrintsKeys(t *testing.T) {
	secrets := [][32]byte{newSecret()}
	k := newKeys(t, Fetch(func(context.Context) ([][32]byte, error) { return secrets, nil }))
	r := k.now.Load()
	out := new(journal)
	for _, v := range []any{k, r, *r, r.keys, r.keys[0], r.keys[0].secret, &r.keys[0], struct{ Keys *Keys }{k}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(out, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(out, nil)).Info("JSON", "v", v)
	}
	part := secrets[0][3:7]
	for _, form := range []string{
		string(part), hex.EncodeToString(part), strings.ToUpper(hex.EncodeToString(part)),
		strings.Trim(fmt.Sprint(part), "[]"), strings.Trim(fmt.Sprintf("%#v", part), "[]byte{}"), strings.ReplaceAll(strings.Trim(fmt.Sprint(part), "[]"), " ", ","),
	} {
		if strings.Contains(out.String(), form) {
			t.Errorf("a key is printed, as %q", form)
		}
	}
	if out.count("tickets.Keys(1)") == 0 {
		t.Error("Keys print nothing at all")
	}
}
