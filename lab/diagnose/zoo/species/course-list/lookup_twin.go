//go:build twin

package main

import "context"

// lookup is where a course finds its teacher.
type lookup struct{ names map[string]string }

// prepare makes courses ready to be shown.
func (s *School) prepare(ctx context.Context, list []Course) error {
	ids := make([]any, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	names, err := s.names(ctx, ids...)
	for i := range list {
		list[i].lookup = lookup{names}
	}
	return err
}

// Teacher returns the name of the teacher.
func (c Course) Teacher() string { return c.names[c.ID] }
