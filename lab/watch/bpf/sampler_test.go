package bpf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/watch"
)

// canned is a source with counts of the test.
type canned struct {
	counts Counts
	failed error
	isOn   []bool // what observe was told
}

func (c *canned) read() (Counts, error) { return c.counts, c.failed }
func (c *canned) observe(on bool) error { c.isOn = append(c.isOn, on); return nil }
func (c *canned) Close() error          { return nil }
func (c *canned) missing() []absent     { return []absent{{"too old", []string{"tcp_sends"}}} }

// sampled takes a sample of each of the counts, a second apart, and returns the last one.
func sampled(t *testing.T, c *canned, list ...Counts) (*watch.Sample, []watch.Missing) {
	t.Helper()
	var last *watch.Sample
	var missing []watch.Missing
	w, err := watch.New(watch.Options{Every: time.Second, Samplers: []watch.Sampler{newSampler(c, Counts{At: time.Unix(999, 0)})}, Cost: cputime.OfThread}, func(e watch.Event) error {
		if e.Sample != nil {
			last = e.Sample
		}
		if e.Missing != nil {
			missing = append(missing, *e.Missing)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, counts := range list {
		counts.At, counts.Span = time.Unix(int64(1000+i), 0), time.Duration(i+1)*time.Second
		c.counts = counts
		if err := w.Step(t.Context(), counts.At); err != nil {
			t.Fatal(err)
		}
	}
	return last, missing
}

// Every figure that the table names is set, and no other one.
func TestFigures(t *testing.T) {
	one, two := filled(1), filled(2)
	for _, c := range []*Counts{&one, &two} {
		c.Calls["epoll_wait"], c.Calls["io_uring_enter"] = c.Calls["read"], c.Calls["read"]
	}
	got, missing := sampled(t, &canned{}, one, two)
	known := map[string]bool{}
	for _, f := range watch.KernelEventFigures() {
		known[f.Name] = true
		if f.Name != "tcp_sends" && len(watch.In(f, got.Values)) == 0 {
			t.Errorf("no %s", f.Name)
		}
	}
	for name := range got.Values {
		family, _, ok := watch.Family(name)
		if !ok && !known[name] || ok && !slices.ContainsFunc(figureNames, func(n string) bool { f, _, is := watch.Family(n); return is && f == family }) {
			t.Errorf("%s is in no table", name)
		}
	}
	for name, want := range map[string]float64{
		"syscalls_all": 3, "syscalls{read}": 1, "epoll_waits": 1, "epoll_events": 1, "epoll_balance": 0, "tcp_send_bytes": 1, "accepts": 1, "bpf_lost": 4,
		"peer_connects{10.0.0.1:80}": 1, "peer_requests{10.0.0.1:80}": 112, "connects": 1, "kernel_cpu{copy}": 1, "kernel_cpu{locks}": 0,
	} {
		if v, ok := got.Values[name]; !ok || v != want {
			t.Errorf("%s: %v %v, want %v", name, v, ok, want)
		}
	}
	if len(missing) != 1 || missing[0].Reason != "too old" || missing[0].Source != sourceName {
		t.Errorf("%+v", missing)
	}
	if _, missing = sampled(t, &canned{failed: errors.New("broken")}, one); len(missing) != 1 || missing[0].Reason != "broken" {
		t.Errorf("%+v", missing)
	}
}

// The members of families in the samples are bounded; those that came first stay.
func TestMembers(t *testing.T) {
	few, many := filled(1), filled(2)
	for i := range 1000 {
		p := many.Peers[0]
		p.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{9, 0, byte(i >> 8), byte(i)}), 1)
		many.Peers = append(many.Peers, p)
		many.Calls[fmt.Sprint("call", i)] = many.Calls["read"]
	}
	slices.SortFunc(many.Peers, func(a, b Peer) int { return order(&a, &b) })
	got, _ := sampled(t, &canned{}, few, many)
	if n := len(got.Values); n > 400 {
		t.Errorf("%d values", n)
	}
	// One that is new counts from 0.
	for name, want := range map[string]float64{"syscalls{read}": 1, "peer_connects{10.0.0.1:80}": 1, "syscalls{call0}": 2, "peer_connects{9.0.0.0:1}": 2} {
		if v := got.Values[name]; v != want || got.Totals[name] != want {
			t.Errorf("%s: %v, total %v, want %v", name, v, got.Totals[name], want)
		}
	}
}
