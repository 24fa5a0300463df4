package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

func end(t *testing.T, h *Hub, e Ending, want int) {
	t.Helper()
	if n, err := h.End(context.Background(), e); n != want || err != nil {
		t.Fatalf("%+v: %d %v, want %d", e, n, err, want)
	}
}

// TestRevokedMeanwhile: a client whose right is withdrawn after it was admitted, and before it has joined,
// is ended as well.
func TestRevokedMeanwhile(t *testing.T) {
	h := newHub(t, Options{})
	s := new(idle)
	s.sink = s
	j := &joining{filters: []string{"t"}, user: "ann", token: "t1"}
	if err := h.admit(&s.subscriber, j); err != nil {
		t.Fatal(err)
	}
	end(t, h, Ending{Token: "t1", Until: time.Now().Add(time.Hour)}, 0)
	h.join(&s.subscriber, nil, j)
	publish(t, h, Event{Topic: "t"})
	if s.bye != byeRevoked || s.queue != nil {
		t.Errorf("it is ended because of %q", s.bye)
	}
	h.leave(&s.subscriber)
	if n := len(h.limits.users) + len(h.limits.tokens); n != 0 {
		t.Errorf("%d tallies remain", n)
	}
}

// TestRevokedFor: a revocation ends with its time, by the hub's clock, and those that have ended make
// room. What they count for in MaxBytes is given back.
func TestRevokedFor(t *testing.T) {
	h := newHub(t, Options{})
	ask := func(token string) error {
		s := new(idle)
		s.sink = s
		err := h.admit(&s.subscriber, &joining{filters: []string{"t"}, token: token})
		if err == nil {
			h.dismissed(&s.subscriber)
		}
		return err
	}
	end(t, h, Ending{Token: "t", Until: time.Now().Add(time.Hour)}, 0)
	for i := range maxRevoked - 1 {
		end(t, h, Ending{User: fmt.Sprint("u", i), Until: time.Now().Add(time.Hour)}, 0)
	}
	if _, err := h.End(context.Background(), Ending{Token: "more", Until: time.Now().Add(time.Hour)}); !errors.Is(err, ErrTooManyRevoked) {
		t.Errorf("one more: %v", err)
	}
	if err := ask("t"); err != errRevoked {
		t.Errorf("got %v", err)
	}
	h.clockSkew.Add(int64(time.Hour + time.Second))
	if err := ask("t"); err != nil {
		t.Errorf("later: %v", err)
	}
	end(t, h, Ending{Token: "more", Until: time.Now().Add(time.Hour)}, 0)
	end(t, h, Ending{Token: "more", Until: time.Now().Add(-time.Hour)}, 0)
	if n, bytes := h.limits.revoked.len(), h.bytes.Load(); n != 0 || bytes != 0 {
		t.Errorf("%d remain, and %d bytes", n, bytes)
	}
}

// TestEndDrops: one that is ended gets nothing of what waits for it, also if it was to have that first,
// and each is found after others of its user have left.
func TestEndDrops(t *testing.T) {
	h := newHub(t, Options{})
	var all []*idle
	for range 5 {
		s, err := join(t, h, "t")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	h.leave(&all[0].subscriber)
	h.leave(&all[2].subscriber)
	publish(t, h, Event{Topic: "t"})
	all[1].shard.mu.Lock()
	all[1].end(byeLifetime)
	all[1].shard.mu.Unlock()
	end(t, h, Ending{User: "u", Reason: "gone"}, 3)
	end(t, h, Ending{User: "u"}, 0)
	for _, i := range []int{1, 3, 4} {
		s := &all[i].subscriber
		if s.queue != nil || s.bye != byeEnded || s.farewell() != "gone" {
			t.Errorf("%d: %v %q", i, s.bye, s.farewell())
		}
		h.leave(s)
	}
	if st := h.Stats(); st.Endings["ended"] != 3 || st.Endings["client"] != 2 || st.Endings["lifetime"] != 0 || st.Waiting != 0 || st.WaitingBytes != 0 {
		t.Errorf("got %+v", st)
	}
}

// stuck is a client of net/http that accepts nothing in time.
type stuck struct{ *httptest.ResponseRecorder }

func (stuck) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestStalledEndings: clients that do not accept a write in time are counted as such.
func TestStalledEndings(t *testing.T) {
	h := newHub(t, Options{})
	for i, why := range []error{redline.ErrTimeout, redline.ErrTimeout, redline.ErrGone} {
		l := crowd(t, h, new(fakeLoop), fmt.Sprint(i), 1)[0]
		l.fate.Store(hasJoined)
		l.Gone(why)
	}
	h.Handler(nil).ServeHTTP(stuck{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/?topic=t", nil))
	if st := h.Stats(); st.Endings["stalled"] != 3 || st.Endings["client"] != 1 || st.Subscribers != 0 {
		t.Errorf("got %+v", st)
	}
}

// TestGhostsAreWalked: to resume below a topic that does not exist looks at no losses, also when there were
// more topics than MaxTopics; one that has lost events there gets a gap.
func TestGhostsAreWalked(t *testing.T) {
	h := newHub(t, Options{MaxTopics: 10, History: History{Events: 1}})
	h.history.most = 64
	for i := range 3000 {
		publish(t, h, Event{Topic: fmt.Sprint("t/", i)})
	}
	for _, c := range []struct {
		filter string
		lost   bool
	}{{"none/*", false}, {"t/17/**", true}, {"t/2999/**", false}} {
		y, u := &h.history, new(catchUp)
		y.room = y.most
		lost, known := y.missing(u, 0, []string{c.filter})
		if !known || lost > 0 != c.lost || y.room != y.most {
			t.Errorf("%s: %d is lost, %v; looked at %d places", c.filter, lost, known, y.most-y.room)
		}
	}
}

// TestRevocationsSwept: those whose time has passed are looked for only if there are some, also when there is
// no room.
func TestRevocationsSwept(t *testing.T) {
	var v revocations
	v.init()
	for i := range maxRevoked {
		if err := v.set(0, fmt.Sprint(i), "", time.Hour); err != nil {
			t.Fatal(i, err)
		}
	}
	const unswept = minSweep + 1
	v.sweep = unswept
	if err := v.set(1, "", "t", time.Hour); err != ErrTooManyRevoked || v.sweep != unswept {
		t.Errorf("%v, and all were looked at: %v", err, v.sweep != unswept)
	}
	if err := v.set(int64(time.Hour), "", "t", time.Hour); err != nil || v.len() != 1 {
		t.Errorf("%d remain: %v", v.len(), err)
	}
}
