//go:build !twin

package main

import "context"

// lookup is where a course finds its teacher.
type lookup struct {
	ctx    context.Context // templates pass none
	school *School
}

// prepare makes courses ready to be shown.
func (s *School) prepare(ctx context.Context, list []Course) error {
	for i := range list {
		list[i].lookup = lookup{ctx, s}
	}
	return nil
}

// Teacher returns the name of the teacher.
func (c Course) Teacher() (string, error) {
	names, err := c.school.names(c.ctx, c.ID)
	return names[c.ID], err
}
