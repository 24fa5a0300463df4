package compare

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
)

// Differences lists the differences between the loads that two runs requested, as text. Host
// and port may differ, because two versions of a server listen at different addresses; so may
// the length of warm-up and window, and the seed.
func Differences(a, b *present.Document) (list []string) {
	c, d := a.Config, b.Config
	for _, p := range []struct {
		name string
		a, b any
	}{
		{"what is measured", kind(a), kind(b)},
		{"scenario", c.Scenario, d.Scenario},
		{"URL path", path(a), path(b)},
		{"TLS", c.TLS != nil, d.TLS != nil},
		{"method", c.Method, d.Method},
		{"body, bytes", c.Body, d.Body},
		{"status expected", c.Status, d.Status},
		{"checks", c.Checks, d.Checks},
		{"connections", c.Connections, d.Connections},
		{"ramp", c.Ramp, d.Ramp},
		{"pipeline", max(c.Pipeline, 1), max(d.Pipeline, 1)},
		{"HTTP/2", c.HTTP2, d.HTTP2},
		{"streams on a connection", c.Streams, d.Streams},
		{"rate", c.Arrivals, d.Arrivals},
		{"think time", c.Think, d.Think},
		{"requests per connection", c.PerConnection, d.PerConnection},
		{"connects a second", c.ConnectRate, d.ConnectRate},
		{"thin lines", c.Slow, d.Slow},
		{"timeout, seconds", c.TimeoutSeconds, d.TimeoutSeconds},
		{"workers", max(c.Workers, 1), max(d.Workers, 1)},
	} {
		if first, second := say(p.a), say(p.b); first != second {
			list = append(list, fmt.Sprintf("%s: %s, then %s", p.name, first, second))
		}
	}
	return list
}

// say formats a setting, including a composite one.
func say(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	switch s := string(text); s {
	case `""`, "null", "[]":
		return "none"
	case "true":
		return "yes"
	case "false":
		return "no"
	default:
		return report.Line(strings.Trim(s, `"`))
	}
}

func kind(d *present.Document) string {
	switch {
	case d.Stream != nil:
		return "subscribers"
	case d.Open != nil:
		return "an open loop"
	}
	return "a closed loop"
}

// path returns the URL without scheme and host.
func path(d *present.Document) string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return d.URL
	}
	return u.RequestURI()
}

// sound reports whether a run can be compared with another one: it is valid, and nothing disturbed it.
func sound(d *present.Document) bool { return d.Valid && len(d.Disturbed()) == 0 }

// notes returns remarks that make a comparison doubtful, about each run and about both.
func notes(a, b *present.Document) (list []string) {
	for _, d := range []struct {
		name string
		*present.Document
	}{{"a", a}, {"b", b}} {
		for _, g := range d.Failed() {
			word := "INVALID"
			if g.Disturbance {
				word = "DISTURBED"
			}
			list = append(list, fmt.Sprintf("%s: run %s: %s (gate %s)", word, d.name, report.Line(g.Text), report.Line(g.Name)))
		}
		if d.Partial != "" {
			list = append(list, fmt.Sprintf("PARTIAL: run %s: %s", d.name, report.Line(d.Partial)))
		}
		if len(d.Profiles) > 0 {
			list = append(list, fmt.Sprintf("NOTE: run %s was profiled, which made it slower", d.name))
		}
	}
	m, n := a.Machine, b.Machine
	for _, p := range []struct {
		name string
		a, b any
	}{
		{"CPU", m.CPU, n.CPU},
		{"number of CPUs", m.CPUs, n.CPUs},
		{"kernel", m.Kernel, n.Kernel},
		{"governor", m.Governor, n.Governor},
		{"version of redline", a.Tool, b.Tool},
		{"seconds of the window", a.Config.DurationSeconds, b.Config.DurationSeconds},
		{"seconds of warm-up", a.Config.WarmupSeconds, b.Config.WarmupSeconds},
		{"CPUs of the server", serverCPUs(a), serverCPUs(b)},
	} {
		if first, second := say(p.a), say(p.b); first != second {
			list = append(list, fmt.Sprintf("NOTE: %s: %s, then %s", p.name, first, second))
		}
	}
	slices.SortStableFunc(list, func(x, y string) int { return rank(x) - rank(y) })
	return list
}

// rank returns the position of a note: the most serious ones come first.
func rank(note string) int {
	word, _, _ := strings.Cut(note, ":")
	return slices.Index([]string{"INVALID", "PARTIAL", "NOTE"}, word)
}

func serverCPUs(d *present.Document) int {
	if d.Server == nil {
		return 0
	}
	return d.Server.CPUs
}
