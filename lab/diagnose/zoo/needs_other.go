//go:build !linux

package zoo

import "fmt"

// group is a cgroup, which only Linux has.
type group struct{}

func pick(int) ([]int, error) { return nil, fmt.Errorf("%w: the zoo runs on Linux", ErrNeeds) }

func newGroup(quota float64, memory int64) (*group, error) {
	if quota == 0 && memory == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: cgroups need Linux", ErrNeeds)
}

func (*group) procs() []string { return nil }

func (*group) remove() error { return nil }
