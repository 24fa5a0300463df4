package trace

const (
	columns   = 1024
	firstStep = 1000 // ns; the first millisecond fills all columns
)

// grid adds up rows of values over time in columns of equal width. When time leaves the grid, the
// width doubles.
type grid struct {
	step int64
	rows []*row
}

// row is a row of a grid: integrals over time, or the maximum within each column.
type row struct {
	grid    *grid
	values  [columns]int64
	highest bool
}

func newGrid() *grid { return &grid{step: firstStep} }

func (g *grid) row(highest bool) *row {
	r := &row{grid: g, highest: highest}
	g.rows = append(g.rows, r)
	return r
}

// reach widens the columns until they reach t.
func (g *grid) reach(t int64) {
	for t/g.step >= columns {
		for _, r := range g.rows {
			r.fold()
		}
		g.step *= 2
	}
}

// fold merges pairs of columns.
func (r *row) fold() {
	for i := range columns / 2 {
		a, b := r.values[2*i], r.values[2*i+1]
		if r.highest {
			r.values[i] = max(a, b)
		} else {
			r.values[i] = sum(a, b)
		}
	}
	clear(r.values[columns/2:])
}

// add adds level for each nanosecond of a span; a row of maxima takes level.
func (r *row) add(from, to, level int64) {
	if to <= from || level == 0 {
		return
	}
	r.grid.reach(to)
	for at := from; at < to; {
		column := at / r.grid.step
		end := min(to, (column+1)*r.grid.step)
		if r.highest {
			r.values[column] = max(r.values[column], level)
		} else {
			r.values[column] = sum(r.values[column], (end-at)*level)
		}
		at = end
	}
}

// used returns the number of columns up to t.
func (g *grid) used(t int64) int { return int(min(columns, (t+g.step-1)/g.step)) }

// means returns the row's mean level in each column up to end.
func (r *row) means(end int64) []float64 {
	out := make([]float64, r.grid.used(end))
	for i := range out {
		out[i] = float64(r.values[i]) / float64(r.grid.width(i, end))
	}
	return out
}

// percents is means, as percent of 1.
func (r *row) percents(end int64) []uint8 {
	out := make([]uint8, r.grid.used(end))
	for i := range out {
		out[i] = uint8(min(100, (r.values[i]*100+r.grid.width(i, end)/2)/r.grid.width(i, end)))
	}
	return out
}

// width is the part of a column before end.
func (g *grid) width(column int, end int64) int64 {
	return max(1, min(g.step, end-int64(column)*g.step))
}
