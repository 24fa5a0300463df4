package output

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/redline-go/redline/lab/watch"
)

// The value of schema and version in the first line. A field never changes its meaning.
const (
	SchemaName    = "redline.watch"
	SchemaVersion = 1
)

// Begin is the first line.
type Begin struct {
	Type    string         `json:"type"` // begin
	Schema  string         `json:"schema"`
	Version int            `json:"version"`
	Tool    string         `json:"tool"` // version of redline
	Started time.Time      `json:"started"`
	PID     int            `json:"pid"`
	Command []string       `json:"command,omitempty"` // without credentials; absent if the process ran already
	Every   float64        `json:"every_seconds"`
	Extra   []watch.Figure `json:"extra_figures,omitempty"` // that docs/watch.md does not have
}

// Lines writes a watch as JSON lines: one of type begin, then sample, missing and mark in the
// order of time, and one of type end.
type Lines struct{ out *json.Encoder }

// NewLines returns a Lines that writes to w, and writes the first line.
func NewLines(w io.Writer, b Begin) (*Lines, error) {
	l := &Lines{out: json.NewEncoder(w)}
	l.out.SetEscapeHTML(false)
	b.Type, b.Schema, b.Version = "begin", SchemaName, SchemaVersion
	return l, l.write(b)
}

func (l *Lines) write(line any) error {
	if err := l.out.Encode(line); err != nil {
		return fmt.Errorf("write the JSON lines: %w", err)
	}
	return nil
}

// Event writes an event.
func (l *Lines) Event(e watch.Event) error {
	switch {
	case e.Sample != nil:
		return l.write(struct {
			Type string `json:"type"`
			*watch.Sample
		}{"sample", e.Sample})
	case e.Missing != nil:
		return l.write(struct {
			Type string `json:"type"`
			*watch.Missing
		}{"missing", e.Missing})
	case e.Crossed != nil:
		return l.write(struct {
			Type string `json:"type"`
			*watch.Crossed
		}{"mark", e.Crossed})
	}
	return nil
}

// End writes the last line.
func (l *Lines) End(s watch.Summary) error {
	return l.write(struct {
		Type string `json:"type"`
		watch.Summary
	}{"end", s})
}
