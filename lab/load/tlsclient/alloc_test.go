//go:build !race

package tlsclient

// With the race detector the pools of crypto/tls drop entries at random.

import "testing"

// A Feed allocates less often than once a record, and a Write not at all.
func TestAllocations(t *testing.T) {
	c, s := stand(t, client(t, trusting()), nil, 1<<20)
	const rounds = 100
	answers := make([][]byte, 0, 2*rounds)
	for range cap(answers) {
		var b []byte
		for range 8 { // records
			var err error
			if b, err = s.Write(b, make([]byte, 500)); err != nil {
				t.Fatal(err)
			}
		}
		answers = append(answers, b)
	}
	plain, out := make([]byte, 0, 64<<10), make([]byte, 0, 64<<10)
	feed := func() {
		p, o, err := c.Feed(answers[0], plain, out)
		if err != nil || len(p) != 4000 || len(o) != 0 {
			t.Fatalf("%d bytes, %v", len(p), err)
		}
		answers = answers[1:]
	}
	for range 20 { // the record buffer grows
		feed()
	}
	// One each time that crypto/tls fills its buffer, which has room for two or three.
	if n := testing.AllocsPerRun(rounds, feed); n > 4 {
		t.Errorf("a Feed of 8 records allocates %v times", n)
	}
	request := make([]byte, 1000)
	if n := testing.AllocsPerRun(rounds, func() {
		if _, err := c.Write(out, request); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("a Write allocates %v times", n)
	}
}
