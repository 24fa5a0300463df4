package pushnats

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options are the settings of a broker. Dir or URL is required.
type Options struct {
	// Dir is where an embedded server keeps the events. One process uses it at a time.
	Dir string
	// URL names the servers of an external cluster, such as "nats://a:4222,nats://b:4222".
	// Then no server is embedded.
	URL string

	// Listen is a host and port at which the embedded server serves other nodes, which name
	// it as URL. Anyone who reaches it can read and publish everything, unless Configure adds
	// TLS and users. Default: none; only this process is served.
	Listen string
	// Configure changes the settings of the embedded server before it starts, for TLS, users
	// and clusters of servers.
	Configure func(*server.Options)
	// Connect are settings of the connection, for credentials and TLS.
	Connect []nats.Option

	// Stream names the stream, and Prefix is the first token of its subjects. Defaults:
	// "REDLINE", "redline".
	Stream string
	Prefix string
	// Replicas is on how many servers of a cluster the stream is kept, 1 to 5. Default: 1.
	Replicas int
	// MaxEvents, MaxBytes and MaxAge bound the stream; the oldest events are dropped first.
	// An external stream that exists keeps its own limits. Defaults: 10 million, 1 GiB, a day.
	MaxEvents int64
	MaxBytes  int64
	MaxAge    time.Duration
	// Window is for how long an ID is known, so that an event that is published again is
	// not repeated. It is at most MaxAge. Default: 2 minutes.
	Window time.Duration
	// Sync is how long an acknowledged event may be only in the memory of the machine of the
	// embedded server. The end of the process loses nothing in any case, but power failure
	// does. Default: 0, each event is on the disk when it is acknowledged.
	Sync time.Duration

	// MaxEventBytes is that of the hub. Default: 1 MiB. At most 32 MiB.
	MaxEventBytes int
	// Timeout is how long one request to the broker may take. Default: 5 seconds.
	Timeout time.Duration
	// Ping is how often a silent connection is tested; after two pings without an answer it
	// is lost. Default: 2 seconds.
	Ping time.Duration
	// Logger gets what the embedded server has to say. Default: slog.Default.
	Logger *slog.Logger
}

// head is what headers may add to the data of an event, in bytes: ID, type and key have at
// most 255, each of which may be escaped.
const head = 8 << 10

// withDefaults returns the options with all fields set.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	switch {
	case o.Dir == "" && o.URL == "":
		errs = append(errs, errors.New("pushnats: set Options.Dir for a server inside this process, or Options.URL for an external one"))
	case o.Dir != "" && o.URL != "":
		errs = append(errs, errors.New("pushnats: Options has both Dir and URL: leave one out"))
	case o.URL != "" && (o.Listen != "" || o.Configure != nil):
		errs = append(errs, errors.New("pushnats: Options.Listen and Configure are for the embedded server: leave them out, or use Dir instead of URL"))
	}
	for _, t := range []struct {
		name     string
		field    *string
		fallback string
	}{{"Stream", &o.Stream, "REDLINE"}, {"Prefix", &o.Prefix, "redline"}} {
		if *t.field == "" {
			*t.field = t.fallback
		}
		if len(*t.field) > 64 || strings.ContainsFunc(*t.field, func(r rune) bool { return !plain(r) }) {
			errs = append(errs, fmt.Errorf("pushnats: Options.%s is %q: use up to 64 letters, digits, - and _", t.name, *t.field))
		}
	}
	for _, n := range []struct {
		name                  string
		field                 *int64
		fallback, least, most int64
	}{
		{"MaxEvents", &o.MaxEvents, 10_000_000, 1, 1 << 40},
		{"MaxBytes", &o.MaxBytes, 1 << 30, 1 << 16, 1 << 50},
		{"MaxAge", (*int64)(&o.MaxAge), int64(24 * time.Hour), int64(time.Second), int64(100 * 365 * 24 * time.Hour)},
		{"Window", (*int64)(&o.Window), 0, int64(100 * time.Millisecond), int64(100 * 365 * 24 * time.Hour)},
		{"Sync", (*int64)(&o.Sync), 0, int64(time.Millisecond), int64(time.Hour)},
		{"Timeout", (*int64)(&o.Timeout), int64(5 * time.Second), int64(10 * time.Millisecond), int64(time.Minute)},
		{"Ping", (*int64)(&o.Ping), int64(2 * time.Second), int64(10 * time.Millisecond), int64(time.Minute)},
	} {
		switch {
		case *n.field == 0:
			*n.field = n.fallback
		case *n.field < n.least || *n.field > n.most:
			errs = append(errs, fmt.Errorf("pushnats: Options.%s is %d: use %d to %d", n.name, *n.field, n.least, n.most))
		}
	}
	switch {
	case o.Window == 0:
		o.Window = min(2*time.Minute, o.MaxAge)
	case o.Window > o.MaxAge:
		errs = append(errs, errors.New("pushnats: Options.Window is longer than MaxAge: an ID is forgotten with its event; shorten it"))
	}
	if o.MaxEventBytes == 0 {
		o.MaxEventBytes = 1 << 20
	}
	if o.MaxEventBytes < 1 || o.MaxEventBytes > 32<<20 {
		errs = append(errs, fmt.Errorf("pushnats: Options.MaxEventBytes is %d: use 1 to %d, and publish references to larger data", o.MaxEventBytes, 32<<20))
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Replicas < 1 || o.Replicas > 5 {
		errs = append(errs, fmt.Errorf("pushnats: Options.Replicas is %d: use 1 to 5", o.Replicas))
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, errors.Join(errs...)
}
