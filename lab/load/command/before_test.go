package command

import "testing"

// TestShare counts the CPUs of a server that its generator keeps busy, and leaves it all of them if it
// has no others.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		cpus, generator []int
		free, taken     int
	}{
		{[]int{0, 1}, []int{1}, 1, 1},
		{[]int{0, 1}, []int{2}, 2, 0},
		{[]int{0, 1, 2, 3}, []int{2, 3}, 2, 2},
		{[]int{1}, []int{1}, 1, 0},
	} {
		if free, taken := share(c.cpus, c.generator); free != c.free || taken != c.taken {
			t.Errorf("server on %v, generator on %v: %d free, %d taken", c.cpus, c.generator, free, taken)
		}
	}
}
