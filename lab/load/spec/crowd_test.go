package spec

import (
	"math"
	"testing"
	"time"
)

// Each field is validated; the valid specification has all of them.
func TestValidateCrowd(t *testing.T) {
	good := func() *Subscribe {
		return &Subscribe{
			Format: FormatEvents, Retry: time.Second, Topics: 3, First: 4, Churn: 1.5, Slow: &SlowRead{Share: 0.5, Rate: 100},
			Publish: &Publish{Head: []byte("POST"), Rate: 10, Size: 64, Connections: 1},
		}
	}
	for name, change := range map[string]func(*Subscribe){
		"":                      func(*Subscribe) {},
		"topics":                func(c *Subscribe) { c.Topics = -1 },
		"too many topics":       func(c *Subscribe) { c.Topics = maxTopics + 1 },
		"first":                 func(c *Subscribe) { c.First = -1 },
		"churn":                 func(c *Subscribe) { c.Churn = -1 },
		"churn without end":     func(c *Subscribe) { c.Churn = math.Inf(1) },
		"share":                 func(c *Subscribe) { c.Slow.Share = 1.1 },
		"no share":              func(c *Subscribe) { c.Slow.Share = math.NaN() },
		"slow rate":             func(c *Subscribe) { c.Slow.Rate = -1 },
		"rate":                  func(c *Subscribe) { c.Publish.Rate = 0 },
		"size":                  func(c *Subscribe) { c.Publish.Size = maxPublishSize + 1 },
		"connections":           func(c *Subscribe) { c.Publish.Connections = 0 },
		"head":                  func(c *Subscribe) { c.Publish.Head = nil },
		"messages without ws":   func(c *Subscribe) { c.Format = FormatMessage },
		"ws without messages":   func(c *Subscribe) { c.WebSocket = &WebSocket{} },
		"an unknown format":     func(c *Subscribe) { c.Format = "x" },
		"protobuf in SSE":       func(c *Subscribe) { c.Stamp = "#1" },
		"stamp that is no path": func(c *Subscribe) { c.Stamp = "#0" },
	} {
		c := good()
		change(c)
		if err := c.Validate(); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string]*Spec{
		"WebSockets": {HTTP2: true, Listen: &Subscribe{WebSocket: &WebSocket{}}},
		"topics":     {HTTP2: true, Listen: &Subscribe{Topics: 2}},
		"slow":       {TLS: &TLS{}, Listen: &Subscribe{Slow: &SlowRead{Share: 1}}},
	} {
		if s.validateListen() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
