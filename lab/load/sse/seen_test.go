package sse

import "testing"

// A time or an id counts with the event that it is in, and only as a number.
func TestSeen(t *testing.T) {
	for _, c := range []struct {
		name      string
		stamp, id string
		want      Seen
	}{
		{"both", "ts", "@id", Seen{Stamped: 2, Numbered: 3}},
		{"neither", "nokey", "other", Seen{}},
		{"not asked for", "", "", Seen{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const text = "id: 5\ndata: {\"ts\":1700000000}\n\nid: 6\ndata: x\n\nid: 7\n\nid: 8a\ndata: {\"ts\":1700000001}\n\nid: 9\ndata: {\"ts\":\"soon\"}\n\n"
			r := NewReader(&heard{})
			// Two subscribers: a reader counts for all.
			for _, parts := range [][][]byte{{[]byte(text)}, bytewise(text)} {
				feed(t, r, subscribe(t, Events, 0, c.stamp, c.id), 0, 0, parts...)
			}
			if got, want := r.Seen(), (Seen{Stamped: 2 * c.want.Stamped, Numbered: 2 * c.want.Numbered}); got != want {
				t.Errorf("seen %+v, want %+v", got, want)
			}
		})
	}
}
