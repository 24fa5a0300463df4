//go:build twin

package main

import "context"

// sum adds the prices of all lines, within the time that this may take.
func (r *rates) sum(ctx context.Context, lines []Line) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cents := 0
	for _, l := range lines {
		n, err := r.line(ctx, l)
		if err != nil {
			return 0, err
		}
		cents += n
	}
	return cents, nil
}
