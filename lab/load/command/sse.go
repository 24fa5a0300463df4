package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
	"github.com/redline-go/redline/lab/load/subscribe"
)

// streamFlags is the command line of subscribers.
type streamFlags struct {
	sse, ndjson bool
	lengths     string
	stamp, ids  string
	retry       string
	stall       time.Duration
}

// retryDefault is how long browsers wait before they come back, when the server
// does not say: three seconds in Chromium and WebKit.
const retryDefault = "3s"

// bindStreams makes the flags of subscribers.
func (l *streamFlags) bindStreams(f *pflag.FlagSet) {
	f.BoolVar(&l.sse, "sse", false, "each connection, or stream of HTTP/2, is a subscriber of server-sent events, which are counted instead of answers")
	f.BoolVar(&l.ndjson, "ndjson", false, "each is a subscriber of a stream of JSON, one record a line")
	f.StringVar(&l.lengths, "length-delimited", "", "each is one of a stream of records with their lengths before them: `u32` (four bytes, big endian; the default) or varint (as protobuf has it)")
	f.Lookup("length-delimited").NoOptDefVal = "u32"
	f.StringVar(&l.stamp, "stamp", "", "where in an event the time is at which it was sent: `SOURCE[:UNIT]`, as ts, meta.sent:ms (keys of its JSON), @data or @id:us (a field that begins with it)")
	f.StringVar(&l.ids, "ids", "", "`SOURCE` in an event of a number that grows by one (default: @id with --sse; none: ids are not counted)")
	f.StringVar(&l.retry, "retry", retryDefault, "`TIME` until a subscriber whose stream ended comes back, unless the server says another (field retry); never: it does not")
	f.DurationVar(&l.stall, "stall", 0, "time without a byte after which a subscriber gives its connection up, an error, and comes back (0: it waits)")
}

// asked names the flag that asks for subscribers; empty if none does.
func (l *streamFlags) asked() string {
	switch {
	case l.sse:
		return "sse"
	case l.ndjson:
		return "ndjson"
	case l.lengths != "":
		return "length-delimited"
	}
	return ""
}

// ofRequests are the flags that subscribers have no use for.
var ofRequests = []string{
	"pipeline", "rate", "arrivals", "stages", "burst", "find", "method", "body", "body-file", "status",
	"targets", "think", "check", "upload", "chunked", "requests-per-connection", "slow-read", "slow-write", "slow-connections",
	"max-body", "keep-going", "try", "io",
}

// subscribe makes the subscribers' part of the plan.
func (p *plan) subscribe(changed func(string) bool) error {
	l := &p.streamFlags
	flag := l.asked()
	if flag == "" {
		for _, of := range []string{"stamp", "ids", "retry", "stall"} {
			if changed(of) {
				return fmt.Errorf("--%s is about subscribers: say of what with --sse, --ndjson or --length-delimited", of)
			}
		}
		return ofSubscribers(p.thresholds)
	}
	if l.sse && l.ndjson || l.lengths != "" && (l.sse || l.ndjson) {
		return errors.New("--sse, --ndjson and --length-delimited: one of them, as the server's stream is")
	}
	for _, of := range ofRequests {
		if changed(of) {
			return fmt.Errorf("--%s is about requests, and --%s about subscribers, who send one GET and listen: leave out one of the two", of, flag)
		}
	}
	c, err := l.config()
	if err != nil {
		return err
	}
	p.listen = c
	return counted(p.thresholds, c)
}

// counted refuses thresholds on what no event is asked for.
func counted(thresholds []objective.Objective, c *spec.Subscribe) error {
	for _, o := range thresholds {
		switch stamp, id := o.Needs(); {
		case stamp && c.Stamp == "":
			return fmt.Errorf("--threshold %s: say where in an event its time is, as --stamp ts or --stamp @data", o)
		case id && c.ID == "":
			return fmt.Errorf("--threshold %s: say where in an event its id is, as --ids seq or --ids @id", o)
		}
	}
	return nil
}

// audience is what a document has of the subscribers before the run.
func (p *plan) audience() *present.Stream {
	c := present.StreamConfigOf(p.listen)
	c.AnyID = p.streamFlags.ids == ""
	return &present.Stream{Config: c}
}

// ofSubscribers refuses thresholds on what requests do not have.
func ofSubscribers(thresholds []objective.Objective) error {
	at := slices.IndexFunc(thresholds, objective.Objective.Subscribers)
	if at < 0 {
		return nil
	}
	return fmt.Errorf("--threshold %s: that is a figure of subscribers; add --sse, --ndjson or --length-delimited", thresholds[at])
}

// config says what the streams are.
func (l *streamFlags) config() (*spec.Subscribe, error) {
	c := &spec.Subscribe{Stall: l.stall, Ends: true}
	switch {
	case l.sse:
		c.Format, c.ID = spec.FormatEvents, "@id"
	case l.ndjson:
		c.Format = spec.FormatLines
	case l.lengths == "u32":
		c.Format = spec.FormatLength4
	case l.lengths == "varint":
		c.Format = spec.FormatVarint
	default:
		return nil, fmt.Errorf("--length-delimited=%s: write u32 or varint", l.lengths)
	}
	switch l.ids {
	case "":
	case "none":
		c.ID = ""
	default:
		if _, err := sse.ParseSource(l.ids); err != nil {
			return nil, fmt.Errorf("--ids: %w", err)
		}
		c.ID = l.ids
	}
	if l.stamp != "" {
		var unit string
		if c.Stamp, unit, _ = strings.Cut(l.stamp, ":"); unit != "" {
			if _, err := sse.ParseUnit(unit); err != nil {
				return nil, fmt.Errorf("--stamp %s: %w", l.stamp, err)
			}
			c.Unit = unit
		}
		if _, err := sse.ParseSource(c.Stamp); err != nil {
			return nil, fmt.Errorf("--stamp: %w", err)
		}
	}
	if l.stall < 0 {
		return nil, fmt.Errorf("--stall %v: want 0 or more", l.stall)
	}
	if c.Retry = spec.NeverRetry; l.retry != "never" {
		var err error
		if c.Retry, err = time.ParseDuration(l.retry); err != nil || c.Retry < 0 {
			return nil, fmt.Errorf("--retry %s: write a time, as 3s, or never", l.retry)
		}
	}
	return c, c.Validate()
}

// fields are the headers that a subscriber sends unless the command line has them.
func (l *streamFlags) fields(seen map[string]bool) string {
	c, err := l.config()
	if l.asked() == "" || err != nil { // the error is that of subscribe
		return ""
	}
	var b strings.Builder
	if !seen["accept"] {
		fmt.Fprintf(&b, "Accept: %s\r\n", c.Accept())
	}
	if !seen["cache-control"] {
		b.WriteString("Cache-Control: no-cache\r\n")
	}
	return b.String()
}

// listened refuses a first answer that is no stream, in words.
func (a firstAnswer) listened(r *request, events bool) error {
	target := r.url.String()
	switch {
	case a.status == http.StatusNoContent:
		return fmt.Errorf("%s answers with status 204: it wants no subscribers", target)
	case a.status >= 300 && a.status < 400 && a.location != "":
		return fmt.Errorf("%s redirects with status %d to %s, which is not followed: subscribe to that", target, a.status, a.location)
	case a.status != http.StatusOK:
		return fmt.Errorf("%s answers with status %d, and a stream with 200", target, a.status)
	case events && !subscribe.IsEvents(a.kind):
		return fmt.Errorf("%s: its answer is not of the media type text/event-stream (%.80s): it is no stream of --sse", target, cmp.Or(a.kind, "it has none"))
	}
	return nil
}
