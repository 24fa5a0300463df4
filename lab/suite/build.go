package suite

import "context"

// Build makes the executable of a subject, built into dir if it is one of the
// module peers, and returns its path.
func (c *Catalogue) Build(ctx context.Context, name, dir string) (string, error) {
	s, err := c.find(name)
	if err != nil {
		return "", err
	}
	if err := c.prepare(ctx, s, dir); err != nil {
		return "", err
	}
	return s.Command[0], nil
}
