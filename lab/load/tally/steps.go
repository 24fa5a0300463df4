package tally

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// manySteps is from where on the latencies of a step have two digits: a histogram of three
// takes 270 KiB.
const manySteps = 50

// steps counts the arrivals of each step of a plan. Those of no steps count nothing.
type steps struct {
	ends []int64 // of the steps; an answer after the last one belongs to that
	list []step
	at   int // the last step that was looked for
}

type step struct {
	counts spec.Step
	times  *hdrhistogram.Histogram
}

// newSteps returns empty counts of the steps of a window that begins at a time.
func newSteps(from int64, plan []arrive.Step) steps {
	digits := 3
	if len(plan) > manySteps {
		digits = 2
	}
	var s steps
	for _, p := range plan {
		s.ends = append(s.ends, from+int64(p.To/time.Nanosecond))
		s.list = append(s.list, step{times: hdrhistogram.New(1, MaxLatency, digits)})
	}
	return s
}

// find returns the step that contains a time of the window; nil if there are no steps.
func (s *steps) find(t int64) *step {
	if len(s.list) == 0 {
		return nil
	}
	for s.at > 0 && t < s.ends[s.at-1] {
		s.at--
	}
	for s.at < len(s.ends)-1 && t >= s.ends[s.at] {
		s.at++
	}
	return &s.list[s.at]
}

// right counts a right answer to an arrival of the window.
func (s *steps) right(intended, now int64) {
	if at := s.find(intended); at != nil {
		at.counts.Right++
		Record(at.times, now-intended, 1)
	}
}

// answered counts a right answer where it came.
func (s *steps) answered(now int64) {
	if at := s.find(now); at != nil {
		at.counts.Answered++
	}
}

func (s *steps) failed(intended int64) {
	if at := s.find(intended); at != nil {
		at.counts.Failed++
	}
}

func (s *steps) timedOut(intended, age int64) {
	if at := s.find(intended); at != nil {
		at.counts.Failed++
		Record(at.times, age, 1)
	}
}

func (s *steps) unfinished(intended, now int64) {
	if at := s.find(intended); at != nil {
		at.counts.Unfinished++
		Record(at.times, now-intended, 1)
	}
}

// result returns the counts, with the histograms; nil without steps.
func (s *steps) result() (list []spec.Step, err error) {
	for i := range s.list {
		at := s.list[i].counts
		if at.Histogram, err = Encode(s.list[i].times); err != nil {
			return nil, err
		}
		list = append(list, at)
	}
	return list, nil
}
