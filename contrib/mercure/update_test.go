package mercure

import (
	"strings"
	"testing"
)

// TestCopies wants the text of an update to be made once, however many topics it has, and each copy to be
// one piece of memory.
func TestCopies(t *testing.T) {
	u := Update{ID: "id", Type: "type", Data: strings.Repeat("line\r\n", 10_000)}
	for range maxTopics {
		u.Topics = append(u.Topics, strings.Repeat("t", maxTopicBytes))
	}
	lines := u.lines()
	for _, at := range []int{0, maxTopics - 1} {
		if n := testing.AllocsPerRun(10, func() { u.encode(at, lines) }); n > 1 {
			t.Errorf("copy %d takes %v allocations", at, n)
		}
	}
}
