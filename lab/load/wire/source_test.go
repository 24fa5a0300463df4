package wire

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseSources(t *testing.T) {
	for _, tc := range []struct {
		list        []string
		n           int
		first, last string
		err         string
	}{
		{list: nil},
		{list: []string{"127.0.0.2"}, n: 1, first: "127.0.0.2", last: "127.0.0.2"},
		{list: []string{"127.0.0.2-127.0.1.1"}, n: 256, first: "127.0.0.2", last: "127.0.1.1"},
		{list: []string{"127.0.1.7/30", "127.0.2.1"}, n: 5, first: "127.0.1.4", last: "127.0.2.1"},
		{list: []string{"::ffff:127.0.0.2"}, n: 1, first: "127.0.0.2", last: "127.0.0.2"},
		{list: []string{"fd00::1-fd00::3"}, n: 3, first: "fd00::1", last: "fd00::3"},
		{list: []string{"255.255.255.254-255.255.255.255"}, n: 2, first: "255.255.255.254", last: "255.255.255.255"},
		{list: []string{"here"}, err: `source address "here"`},
		{list: []string{"127.0.0.9-127.0.0.2"}, err: "ends before it begins"},
		{list: []string{"127.0.0.9-::1"}, err: "ends before it begins"},
		{list: []string{"127.0.0.1", "::1"}, err: "IPv4 and IPv6 addresses cannot be mixed"},
		{list: []string{"127.0.0.0/8"}, err: "more than 65536 addresses"},
		{list: []string{"127.0.0.0/33"}, err: "write 127.0.0.2"},
	} {
		got, err := ParseSources(tc.list)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: error %v, want %q", tc.list, err, tc.err)
			}
			continue
		}
		if err != nil || len(got) != tc.n {
			t.Errorf("%q: %d addresses, %v; want %d", tc.list, len(got), err, tc.n)
			continue
		}
		if tc.n > 0 && (got[0] != netip.MustParseAddr(tc.first) || got[tc.n-1] != netip.MustParseAddr(tc.last)) {
			t.Errorf("%q: from %v to %v", tc.list, got[0], got[tc.n-1])
		}
	}
}

// Many connections to the loopback have enough ports, with any number of processes.
func TestLoopback(t *testing.T) {
	local := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		to                     string
		connections, processes int
		want                   int
	}{
		{"127.0.0.1", 10_000, 1, 0},
		{"127.0.0.1", 10_001, 1, 2},
		{"127.0.0.1", 100_000, 6, 12},
		{"127.0.0.1", 10_001, 4, 4},
		{"::ffff:127.0.0.1", 20_000, 1, 2},
		{"::1", 100_000, 6, 0},
		{"10.0.0.1", 100_000, 6, 0},
	} {
		got := Loopback(netip.MustParseAddr(c.to), c.connections, c.processes)
		if len(got) != c.want || c.want > 0 && (got[0] != local || got[c.want-1] == local) {
			t.Errorf("%d connections to %s from %d processes: %v", c.connections, c.to, c.processes, got)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for path, right := range map[string]bool{
		"/run/app.sock": true, "app.sock": true, "@app": true, "": false, "@": false, "a\x00b": false,
		strings.Repeat("x", 107): true, strings.Repeat("x", 108): false,
	} {
		if err := CheckPath(path); (err == nil) != right {
			t.Errorf("%.20q: %v", path, err)
		}
	}
}
