package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

const (
	// publishedLimit is the share of the scheduled events that have to be published within the
	// window.
	publishedLimit = 0.99

	// publishedFree is how many events may be due and not sent at the end of a window: what is
	// due in its last moments. A broadcast may have only five events in a window.
	publishedFree = 2

	// ownPublishLag is the lateness of the generator itself, in microseconds at p99, that its
	// publishers may have: while it reads the events of a broadcast it does not publish.
	ownPublishLag = 20e3
)

// Push judges the publishers of a run, and whether each event has reached each subscriber once and
// in order. h has to have Publish.
func Push(h *spec.Subscribed) ([]results.Gate, error) {
	p := h.Publish
	var own results.Latency
	if p.Own != "" {
		var err error
		if own, err = results.ParseLatency(p.Own); err != nil {
			return nil, fmt.Errorf("lateness of the publishers: %w", err)
		}
	}
	gates := []results.Gate{Complete(h), published(p), {
		Name: "publish errors", Passed: results.CountErrors(p.Errors) == 0, Value: float64(results.CountErrors(p.Errors)),
		Text: fmt.Sprintf("%d events were not accepted (%s): it is unknown which of them were published", results.CountErrors(p.Errors), results.ErrorKinds(p.Errors)),
	}}
	if own.P99 != nil {
		gates = append(gates, results.Gate{
			Name: "publish lag", Passed: *own.P99 <= ownPublishLag, Value: *own.P99, Limit: ownPublishLag,
			Text:   fmt.Sprintf("the generator itself published late: p99 is %s, the limit is %s; its core is too busy with what subscribers receive", report.Micros(*own.P99, " "), report.Micros(ownPublishLag, " ")),
			Spoils: []results.Figure{results.FigureLatency},
		})
	}
	return gates, nil
}

// Complete passes if no subscriber missed an event, received one twice or out of order, or had
// not received one that was published before the end.
func Complete(h *spec.Subscribed) results.Gate {
	wrong := h.Missed + h.Duplicated + h.Publish.Lost
	return results.Gate{
		Name: "complete", Passed: wrong == 0, Value: float64(wrong),
		Text: fmt.Sprintf("%d events were missed, %d came twice or out of order, and %d had not arrived when the run ended", h.Missed, h.Duplicated, h.Publish.Lost),
	}
}

// published passes if the scheduled events were sent within the window, and answered.
func published(p *spec.Published) results.Gate {
	share, late := 1.0, float64(p.Due)-float64(p.Sent)
	if p.Due > 0 {
		share = min(float64(p.Sent)/float64(p.Due), 1)
	}
	return results.Gate{
		Name: "published", Passed: p.Sent > 0 && late <= max(publishedFree, (1-publishedLimit)*float64(p.Due)), Value: share, Limit: publishedLimit,
		Text: fmt.Sprintf("%.1f %% of the events that were due were published: the server answers publishes too slowly, or not at all; lower the rate", 100*share),
	}
}
