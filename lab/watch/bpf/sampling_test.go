package bpf

import (
	"slices"
	"testing"
	"time"
)

// busy is a process that makes so many calls each second, and sends on half of them. What is
// sent is seen in windows only.
type busy struct {
	canned
	now   time.Time
	began time.Time
	calls float64
	sends float64
	rate  float64
	on    bool
}

func (b *busy) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.calls += b.rate * d.Seconds()
	if b.on {
		b.sends += b.rate / 2 * d.Seconds()
	}
}

func (b *busy) observe(on bool) error {
	b.on = on
	return b.canned.observe(on)
}

func (b *busy) read() (Counts, error) {
	sends := uint64(b.sends)
	return Counts{
		At: b.now, Span: b.now.Sub(b.began), Calls: map[string]Call{"read": {Calls: uint64(b.calls), Off: float64(sends)}},
		TCP: TCP{Sends: sends, Retransmits: sends}, Peers: []Peer{{Protocol: "tcp", Sends: sends, Connects: sends}},
	}, nil
}

// Of a busy process, what costs much is counted in a part of the time, and scaled; the rest is
// as it was counted.
func TestSampling(t *testing.T) {
	start := time.Unix(1000, 0)
	b := &busy{now: start, began: start, on: true}
	s := newSampler(b, Counts{At: start})
	s.clock = func() time.Time { return b.now }
	now := func() Counts {
		t.Helper()
		c, err := s.Counts()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, phase := range []struct {
		rate  float64
		share float64 // of the time in which sends were counted
		on    []bool
	}{
		{1000, 1, nil},
		{busyRate - 100, 1, nil},
		{40_000, 1, []bool{false}}, // it was seen to the end
		{40_000, 0.05, []bool{true, false}},
		{busyRate / 2 * 1.5, 0.05, []bool{true, false}}, // not calm yet
		{500, 0.05, []bool{true, false, true}},
		{500, 1, nil},
	} {
		before, told := now(), len(b.isOn)
		b.rate = phase.rate
		took := look
		if s.sampling.busy {
			took = period
			b.pass(period - opening)
			s.turn()
			now() // within a window, nothing is scaled
			b.pass(opening)
		} else {
			b.pass(look)
		}
		s.turn()
		got := now().Sub(before)
		if on := b.isOn[told:]; !slices.Equal(on, phase.on) {
			t.Errorf("%v: attached %v", phase, on)
		}
		want := uint64(phase.rate / 2 * took.Seconds())
		if d := int64(got.TCP.Sends - want); d < -10 || d > 10 || got.Peers[0].Sends != got.TCP.Sends {
			t.Errorf("%v: %d sends, %d to the peer, want %d", phase, got.TCP.Sends, got.Peers[0].Sends, want)
		}
		if d := got.Scaled.Share() - phase.share; d < -0.001 || d > 0.001 {
			t.Errorf("%v: seen %v", phase, got.Scaled)
		}
		if exact := uint64(phase.rate * took.Seconds()); got.Calls["read"].Calls != exact {
			t.Errorf("%v: %d calls, want %d", phase, got.Calls["read"].Calls, exact)
		}
	}
}
