package bpf

import (
	"net/netip"
	"reflect"
	"testing"
	"time"
)

// fill sets every number below v to n, also within structures.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[netip.AddrPort]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// filled returns counts in which every number is n.
func filled(n int) Counts {
	c := Counts{At: time.Unix(int64(n), 0)}
	fill(reflect.ValueOf(&c).Elem(), n)
	call, peer := Call{}, Peer{Addr: netip.MustParseAddrPort("10.0.0.1:80"), Protocol: "tcp"}
	fill(reflect.ValueOf(&call).Elem(), n)
	fill(reflect.ValueOf(&peer).Elem(), n)
	c.Span = time.Duration(n) * time.Second
	c.Calls = map[string]Call{"read": call}
	c.Peers = []Peer{peer}
	c.Failures = map[Failure]uint64{{"read", "EIO"}: uint64(n)}
	c.KernelCPU = map[string]float64{PartCopy: float64(n)}
	return c
}

// Every number of a window is a difference.
func TestSub(t *testing.T) {
	got := filled(5).Sub(filled(2))
	got.At = time.Unix(3, 0)
	if want := filled(3); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	none := filled(2).Sub(filled(2))
	if len(none.Calls) > 0 || len(none.Peers) > 0 || len(none.KernelCPU) > 0 || len(none.Failures) > 0 || none.Span != 0 {
		t.Errorf("%+v", none)
	}
	// What is new counts from 0, and a second peer is told from the first.
	later := filled(5)
	other := later.Peers[0]
	other.Addr = netip.MustParseAddrPort("10.0.0.2:80")
	later.Peers = append(later.Peers, other)
	later.Calls["write"] = later.Calls["read"]
	got = later.Sub(filled(2))
	if len(got.Peers) != 2 || got.Peers[0].Sends != 3 || got.Peers[1].Sends != 5 || got.Calls["write"].Calls != 5 || got.Calls["read"].Calls != 3 {
		t.Errorf("%+v", got)
	}
}

func TestSeconds(t *testing.T) {
	for want, c := range map[float64]Call{
		3:   {Calls: 100, Timed: 100, TimedCPU: 1, Off: 2, SampledCPU: 7},
		4:   {Calls: 100, Timed: 50, TimedCPU: 1, Off: 2},
		2.5: {Calls: 100, Off: 2, SampledCPU: 0.5},
		2:   {Off: 2},
	} {
		if got := c.Seconds(); got != want {
			t.Errorf("%+v: %v s", c, got)
		}
	}
}
