package page

import (
	"math"
	"strconv"
)

// mostColumns limits the columns of the time axis: a screen cannot resolve more.
const mostColumns = 480

// A line is drawn between two readings of a figure that are so many seconds apart at most, or so
// many columns: sources that cost much are read less often than others.
const (
	bridged        = 3.5
	bridgedColumns = 3
)

// axis is the time axis of all charts.
type axis struct {
	Start   float64 `json:"start"` // seconds
	Step    float64 `json:"step"`  // seconds a column
	Columns int     `json:"columns"`
}

// series are the values of all figures, in columns that hold one or more samples each.
type series struct {
	every   float64 // seconds between two samples
	step    float64 // seconds a column
	columns int
	tracks  map[string]*track
}

// track has the values of one figure: their sum and their number in each column.
type track struct {
	sums   []float64
	counts []uint32
}

// mostTracks limits the figures: members of families appear as long as a watch lasts.
const mostTracks = 1000

func newSeries(every float64) *series {
	return &series{every: every, step: every, tracks: map[string]*track{}}
}

// add adds the values of a time.
func (s *series) add(t float64, values map[string]float64) {
	at := s.at(t)
	for ; at >= mostColumns; at = s.at(t) {
		s.fold()
	}
	s.columns = max(s.columns, at+1)
	for name, v := range values {
		one := s.tracks[name]
		if one == nil {
			if len(s.tracks) >= mostTracks {
				continue
			}
			one = &track{}
			s.tracks[name] = one
		}
		for len(one.sums) <= at {
			one.sums, one.counts = append(one.sums, 0), append(one.counts, 0)
		}
		one.sums[at] += v
		one.counts[at]++
	}
}

// at returns the column of a time. Ticks come early or late by a little.
func (s *series) at(t float64) int { return max(0, int(math.Floor((t+s.every/4)/s.step))) }

// fold makes one column of two.
func (s *series) fold() {
	s.step *= 2
	s.columns = (s.columns + 1) / 2
	for _, one := range s.tracks {
		n := (len(one.sums) + 1) / 2
		for i := range n {
			one.sums[i], one.counts[i] = one.sums[2*i], one.counts[2*i]
			if j := 2*i + 1; j < len(one.sums) {
				one.sums[i] += one.sums[j]
				one.counts[i] += one.counts[j]
			}
		}
		one.sums, one.counts = one.sums[:n], one.counts[:n]
	}
}

// axis returns the time axis.
func (s *series) axis() axis { return axis{Step: s.step, Columns: s.columns} }

// values returns the mean of each column, multiplied; nil where nothing was read. A figure that is
// read less often than each column has a value for the time before each reading.
func (s *series) values(name string, by float64) []*float64 {
	out := make([]*float64, s.columns)
	one := s.tracks[name]
	if one == nil {
		return out
	}
	last, most := -1, max(bridged, bridgedColumns*s.step)
	for i, n := range one.counts {
		if n == 0 {
			continue
		}
		v := round(one.sums[i] / float64(n) * by)
		from := i
		if last >= 0 && float64(i-last)*s.step <= most {
			from = last + 1
		}
		for k := from; k <= i; k++ {
			out[k] = &v
		}
		last = i
	}
	return out
}

// mean returns the mean of all values of a figure.
func (s *series) mean(name string) float64 {
	one := s.tracks[name]
	if one == nil {
		return 0
	}
	sum, n := 0.0, 0.0
	for i := range one.sums {
		sum += one.sums[i]
		n += float64(one.counts[i])
	}
	return sum / max(n, 1)
}

// round rounds to five digits, which are more precise than a pixel, to keep the page small.
func round(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		return v
	}
	return short
}
