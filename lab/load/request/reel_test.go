package request

import (
	"strings"
	"testing"
)

func reelOf(depth int, requests ...string) reel {
	var more [][]byte
	for _, r := range requests[1:] {
		more = append(more, []byte(r))
	}
	return newReel(depth, []byte(requests[0]), more...)
}

// TestReelGivesAllInTurn checks that every batch continues where the last one ended,
// whether or not the depth divides the number of requests or exceeds it.
func TestReelGivesAllInTurn(t *testing.T) {
	requests := []string{"a", "bb", "ccc", "dddd", "e"}
	for n := 1; n <= len(requests); n++ {
		for depth := 1; depth <= 12; depth++ {
			r := reelOf(depth, requests[:n]...)
			if r.varied() != (n > 1) {
				t.Errorf("%d requests: varied %v", n, r.varied())
			}
			for begin := range n {
				var got, want strings.Builder
				for first, i := begin, 0; i < 2*n; i++ {
					var text []byte
					text, first = r.batch(first)
					got.Write(text)
				}
				for i := range 2 * n * depth {
					want.WriteString(requests[(begin+i)%n])
				}
				if got.String() != want.String() {
					t.Fatalf("%d requests, batches of %d from %d: %q, want %q", n, depth, begin, got.String(), want.String())
				}
			}
		}
	}
}

func TestReelCountsWhatIsWritten(t *testing.T) {
	r := reelOf(3, "a", "bb", "ccc", "dddd")
	for _, test := range []struct{ first, off, begun, whole int }{
		{0, 0, 0, 0},
		{0, 1, 1, 1},
		{0, 2, 2, 1},
		{0, 3, 2, 2},
		{0, 4, 3, 2},
		{0, 6, 3, 3},
		{3, 3, 1, 0},
		{3, 4, 1, 1},
		{3, 5, 2, 2},
		{3, 6, 3, 2},
		{3, 7, 3, 3},
	} {
		if begun, whole := r.begun(test.first, test.off), r.whole(test.first, test.off); begun != test.begun || whole != test.whole {
			t.Errorf("%d bytes from request %d on: begun %d, whole %d, want %d, %d",
				test.off, test.first, begun, whole, test.begun, test.whole)
		}
	}
}
