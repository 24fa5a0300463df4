//go:build !twin

package main

import "context"

// sum adds the prices of all lines.
func (r *rates) sum(ctx context.Context, lines []Line) (int, error) {
	cents := 0
	for _, l := range lines {
		n, err := r.within(ctx, l)
		if err != nil {
			return 0, err
		}
		cents += n
	}
	return cents, nil
}

// within calculates the price of one line, within the time that it may take.
func (r *rates) within(ctx context.Context, l Line) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.line(ctx, l)
}
