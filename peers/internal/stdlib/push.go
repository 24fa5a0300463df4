package stdlib

import (
	"io"
	"net/http"
	"time"

	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/redline-go/redline/peers/internal/topics"
)

// Push is the subscribers of the service.
type Push struct{ topics topics.Topics }

// Events answers GET /events.
func (p *Push) Events(w http.ResponseWriter, r *http.Request) {
	topic, err := subject.Topic(r.URL.Query().Get("topic"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := p.topics.Join(topic)
	defer s.Leave()
	w.Header().Set("Content-Type", subject.EventStream)
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	for {
		if err := flusher.Flush(); err != nil { // the head, at first
			return
		}
		select {
		case <-r.Context().Done():
			return
		case event := <-s.Events:
			if !writeAll(w, event, s.Events) {
				return
			}
		}
	}
}

// writeAll writes an event, and those that wait behind it.
func writeAll(w io.Writer, event []byte, more <-chan []byte) bool {
	for {
		if _, err := w.Write(event); err != nil {
			return false
		}
		select {
		case event = <-more:
		default:
			return true
		}
	}
}

// Publish answers POST /publish.
func (p *Push) Publish(w http.ResponseWriter, r *http.Request) {
	topic, err := subject.Topic(r.URL.Query().Get("topic"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, subject.MaxPublish))
	if err != nil {
		bodyError(w, err)
		return
	}
	event, err := subject.Published(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.topics.Publish(topic, event)
	w.WriteHeader(http.StatusNoContent)
}

// Feed answers GET /feed.
func Feed(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	spec, err := subject.ParseFeed(query.Get("interval"), query.Get("size"), query.Get("format"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	periodic(w, r, spec.Type, spec.Interval, spec.NewTicks().Next)
}

// periodic answers with what next returns, at once and then each interval.
func periodic(w http.ResponseWriter, r *http.Request, contentType string, interval time.Duration, next func(time.Time) []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := w.Write(next(time.Now())); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
