package subject

import (
	"strings"
	"testing"
	"time"
)

func TestParseStream(t *testing.T) {
	tests := []struct {
		interval, size string
		want           Stream
		fails          bool
	}{
		{"", "", Stream{100 * time.Millisecond, 40}, false},
		{"100ms", "40", Stream{100 * time.Millisecond, 40}, false},
		{"1ms", "32", Stream{time.Millisecond, 32}, false},
		{"1h", "65536", Stream{time.Hour, 65536}, false},
		{"1h1ns", "", Stream{}, true},
		{"999us", "", Stream{}, true},
		{"-1s", "", Stream{}, true},
		{"5", "", Stream{}, true},
		{"soon", "", Stream{}, true},
		{"", "31", Stream{}, true},
		{"", "65537", Stream{}, true},
		{"", "-40", Stream{}, true},
		{"", "many", Stream{}, true},
	}
	for _, test := range tests {
		got, err := ParseStream(test.interval, test.size)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("ParseStream(%q, %q) = %v, %v; want %v, error %v",
				test.interval, test.size, got, err, test.want, test.fails)
		}
	}
}

func TestEvent(t *testing.T) {
	now := time.Unix(1763721234, 567890123)
	tests := []struct {
		size int
		want string
	}{
		{32, "data: 1763721234567890123 ....\n\n"},
		{40, "data: 1763721234567890123 ............\n\n"},
		{65536, "data: 1763721234567890123 " + strings.Repeat(".", 65536-28) + "\n\n"},
	}
	for _, test := range tests {
		event := Stream{Size: test.size}.NewEvent()
		event.Stamp(now.Add(-time.Hour))
		if got := string(event.Stamp(now)); got != test.want {
			t.Errorf("event of %d bytes is %.60q, want %.60q", test.size, got, test.want)
		}
		data := strings.TrimSuffix(strings.TrimPrefix(test.want, "data: "), "\n\n")
		if got := string(event.StampData(now)); got != data {
			t.Errorf("data of an event of %d bytes is %.60q, want %.60q", test.size, got, data)
		}
		if allocs := testing.AllocsPerRun(100, func() { event.Stamp(now) }); allocs != 0 {
			t.Errorf("%v allocations an event, want none", allocs)
		}
	}
}
