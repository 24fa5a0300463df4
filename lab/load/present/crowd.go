package present

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// Crowd is the part of the configuration of subscribers about what they do besides listening,
// and what is published to them.
type Crowd struct {
	WebSocket   bool    `json:"websocket,omitempty"`
	Topics      int     `json:"topics,omitempty"`             // of the subscribers; 0 or 1: one
	Churn       float64 `json:"churn,omitempty"`              // subscribers a second that leave and join
	SlowShare   float64 `json:"slow_share,omitempty"`         // of the subscribers
	SlowRate    int64   `json:"slow_rate,omitempty"`          // bytes a second that each of them reads; 0: none
	PublishRate float64 `json:"publish_rate,omitempty"`       // events a second; 0: something else publishes
	PublishSize int     `json:"publish_size_bytes,omitempty"` // of an event
}

func crowdOf(c *spec.Subscribe) Crowd {
	of := Crowd{WebSocket: c.WebSocket != nil, Churn: c.Churn}
	if c.Topics > 1 {
		of.Topics = c.Topics
	}
	if c.Slow != nil {
		of.SlowShare, of.SlowRate = c.Slow.Share, c.Slow.Rate
	}
	if c.Publish != nil {
		of.PublishRate, of.PublishSize = c.Publish.Rate, c.Publish.Size
	}
	return of
}

// Publishing holds the distributions of the publishers.
type Publishing struct {
	Lag    results.Latency `json:"lag"`    // from when an event was due to its send
	Answer results.Latency `json:"answer"` // from the send to the answer

	gates []results.Gate `json:"-"`
}

// fillPublishing adds the figures of publishers, if there are any.
func (s *Stream) fillPublishing() (err error) {
	p := s.Publish
	if p == nil {
		return nil
	}
	out := &Publishing{}
	if out.gates, err = verdict.Push(&s.Subscribed); err != nil {
		return err
	}
	if out.Lag, err = results.ParseLatency(p.Lag); err != nil {
		return err
	}
	if out.Answer, err = results.ParseLatency(p.Answer); err != nil {
		return err
	}
	own := *p // the result of the generator is not changed
	own.Lag, own.Own, own.Answer = "", "", ""
	s.Publish, s.Publishing = &own, out
	return nil
}

// lost returns how many events had not arrived when the run ended.
func (s *Stream) lost() uint64 {
	if s.Publish == nil {
		return 0
	}
	return s.Publish.Lost
}

// publishGates returns the gates of publishers.
func (s *Stream) publishGates() []results.Gate {
	if s.Publishing == nil {
		return nil
	}
	return s.Publishing.gates
}

// crowd writes the lines of a summary about what subscribers do besides listening, and what was
// published to them.
func (s *summary) crowd(t *Stream) {
	if t.Left+t.Joined > 0 {
		s.line("churn", fmt.Sprintf("%d subscribers left, %d joined", t.Left, t.Joined))
	}
	if slow := t.Slow; slow != nil {
		s.line("slow", fmt.Sprintf("%d subscribers that hardly read, apart from the other figures: %d events, %d missed, %d duplicated; %d times a connection ended",
			slow.Subscribers, slow.Events, slow.Missed, slow.Duplicated, slow.Ended))
	}
	p, more := t.Publish, t.Publishing
	if p == nil || more == nil {
		return
	}
	topics := "one topic"
	if p.Topics > 1 {
		topics = fmt.Sprintf("%d topics", p.Topics)
	}
	text := fmt.Sprintf("%d of %d events that were due, to %s; %d accepted", p.Sent, p.Due, topics, p.Accepted)
	if n := results.CountErrors(p.Errors); n > 0 {
		text += fmt.Sprintf(", %d errors (%s)", n, results.ErrorKinds(p.Errors))
	}
	if more.Answer.P50 != nil {
		text += "; answered after " + report.Micros(*more.Answer.P50, " ")
		if more.Answer.P99 != nil {
			text += ", p99 " + report.Micros(*more.Answer.P99, " ")
		}
	}
	s.line("published", text)
	s.line("received", fmt.Sprintf("%d missed, %d twice or out of order, %d not yet when the run ended", t.Missed, t.Duplicated, p.Lost))
}
