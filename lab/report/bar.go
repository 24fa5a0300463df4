package report

import "strings"

// Bar draws a share, 0 to 1, in so many cells.
func Bar(share float64, cells int) string {
	full := min(max(int(share*float64(cells)), 0), cells)
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// Spark draws values from 0 to their largest, a cell each.
func Spark(values []float64) string {
	const steps = "▁▂▃▄▅▆▇█"
	glyphs := []rune(steps)
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 {
			i = min(int(v/top*float64(len(glyphs))), len(glyphs)-1)
		}
		b.WriteRune(glyphs[i])
	}
	return b.String()
}
