package spec

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// Spec describes the load that a generator process makes. It is sent as JSON on the
// process's standard input.
type Spec struct {
	Addr        string        `json:"addr"`               // host:port of the server, numeric; or UnixPrefix and its socket
	Request     []byte        `json:"request"`            // one whole request, head and body, as sent on the wire; empty with a Scenario
	More        [][]byte      `json:"more,omitempty"`     // requests that follow Request in turn on each connection, before it starts over; Expect applies to their responses too. HTTP/1.1 only
	Expect      Expect        `json:"expect"`             // what every response must be
	Connections int           `json:"connections"`        // kept open throughout
	Initial     int           `json:"initial,omitempty"`  // of an open loop: how many of the Connections are made before the run; the others when arrivals wait; 0: all
	Pipeline    int           `json:"pipeline"`           // requests in flight a connection, at least 1
	Idle        bool          `json:"idle"`               // each connection has one request answered before the warm-up, and is idle from then on
	Warmup      time.Duration `json:"warmup"`             // minimum; longer while the rate has a trend, up to three times as long
	Window      time.Duration `json:"window"`             // measured time
	Tick        time.Duration `json:"tick"`               // interval between the points of the time series
	Timeout     time.Duration `json:"timeout"`            // for connecting, and for one response
	Requests    uint64        `json:"requests,omitempty"` // after which the window ends, unless Window is over earlier: responses and errors of a closed loop, arrivals of an open one; 0: no limit
	Arrivals    *arrive.Plan  `json:"arrivals"`           // of an open loop, from the start of the window on; nil: a closed loop
	Ramp        *arrive.Ramp  `json:"ramp,omitempty"`     // of a closed loop: how many of the Connections are active, from the start of the window on; nil: all
	Congestion  string        `json:"congestion"`         // TCP congestion control of the sockets; empty leaves the default
	ServerPIDs  []int         `json:"server_pids"`        // processes whose CPU time is read at both ends of the window and every tick

	Scenario      *Scenario `json:"scenario,omitempty"`                // replaces Request and Expect
	PerConnection int       `json:"requests_per_connection,omitempty"` // responses after which a connection is replaced by a new one; 0: never
	ConnectRate   float64   `json:"connect_rate,omitempty"`            // limit on new connections a second; 0: no limit
	Sources       []string  `json:"sources,omitempty"`                 // source addresses, see wire.ParseSources; empty: the kernel's choice
	Slow          Slow      `json:"slow,omitzero"`                     // connections with a limited rate of reading or writing
	TLS           *TLS      `json:"tls,omitempty"`                     // nil: no TLS
	HTTP2         bool      `json:"http2,omitempty"`                   // HTTP/2 instead of HTTP/1.1; without TLS by prior knowledge (RFC 9113, section 3.3)
	Streams       int       `json:"streams,omitempty"`                 // HTTP/2: requests in flight or subscribers on a connection, at least 1
	MaxBody       int64     `json:"max_body,omitempty"`                // limit in bytes on a body of unannounced length; 0: 1 GiB
	Member        bool      `json:"member,omitempty"`                  // one of several workers: the warm-up lasts exactly Warmup, so that their windows coincide, and the ticks of the window have Counts
	Persist       bool      `json:"persist,omitempty"`                 // continue when a server refuses connections, or gives no right response, for long

	Listen *Subscribe `json:"listen,omitempty"` // connections are subscribers of streams, and Request is the head that they send; see package subscribe
}

// Scenario describes a load of more than one request, as the generator's process receives
// it. That process reads the files that it names, unless Files has them.
type Scenario struct {
	Name    string            `json:"name"`              // of the file: it determines the format, and the directory that other names are relative to
	Text    []byte            `json:"text,omitempty"`    // the file's content
	Files   Files             `json:"files,omitempty"`   // the files that it names, see Carry; nil: they are read where the generator runs
	Request *scenario.Request `json:"request,omitempty"` // instead of a file
	Base    string            `json:"base,omitempty"`    // http://host:port, see scenario.Options
	Think   string            `json:"think,omitempty"`   // for requests that do not set it; see package dist
	Set     []string          `json:"set,omitempty"`     // header fields added to every request, see scenario.Options
	Check   []string          `json:"check,omitempty"`   // checks added to every response, see scenario.Options
	Seed    uint64            `json:"seed,omitempty"`    // seed of all random values
	First   int               `json:"first,omitempty"`   // number of the first user; each connection is a user
	Users   int               `json:"users,omitempty"`   // in all processes of the run; 0: Spec.Connections
}

// Plan compiles the scenario. The caller must close the plan.
func (s *Scenario) Plan() (*scenario.Plan, error) {
	o := scenario.Options{Base: s.Base, Set: s.Set, Check: s.Check}
	read := os.ReadFile
	if s.Files != nil {
		o.FS = s.Files
		read = func(name string) ([]byte, error) { return fs.ReadFile(s.Files, name) }
	}
	if s.Think != "" {
		think, err := dist.ParseWith(s.Think, read)
		if err != nil {
			return nil, fmt.Errorf("think time: %w", err)
		}
		o.Think = think
	}
	if s.Request != nil {
		return scenario.Single(*s.Request, o)
	}
	return scenario.Parse(s.Name, s.Text, o)
}

// Carry reads the files that the scenario and Think name into Files, for a process on
// another machine, which cannot read them. It returns the errors of the scenario and of
// reading.
func (s *Scenario) Carry() error {
	plan, err := s.Plan()
	if err != nil {
		return err
	}
	names := plan.Files()[1:] // the first is Text, or Request
	if name, ok := dist.File(s.Think); ok {
		names = append(slices.Clone(names), name)
	}
	s.Files, err = ReadFiles(names)
	return errors.Join(err, plan.Close())
}

// Slow describes clients with little bandwidth. A rate of 0 means no limit.
type Slow struct {
	Connections int   `json:"connections,omitempty"` // how many of them; 0: all
	Read        int64 `json:"read,omitempty"`        // bytes a second that a connection reads
	Write       int64 `json:"write,omitempty"`       // bytes a second that a connection writes
}

// Applies reports whether the connection with this index is slow.
func (s *Slow) Applies(index int) bool {
	return (s.Read > 0 || s.Write > 0) && (s.Connections == 0 || index < s.Connections)
}

// TLS is the TLS configuration of connections.
type TLS struct {
	ServerName string `json:"server_name,omitempty"` // name to send, and to verify the certificate against
	Insecure   bool   `json:"insecure,omitempty"`    // accept any certificate
	Resume     bool   `json:"resume,omitempty"`      // resume sessions: the server signs only for the first connection
	Roots      []byte `json:"roots,omitempty"`       // trusted certificates, PEM; empty: those of the system

	Certificate []byte `json:"certificate,omitempty"` // of the client, with the intermediate ones, PEM; empty: none
	Key         []byte `json:"key,omitempty"`         // its private key, PEM; no result contains it
}

// Pool returns the certificates to trust; nil: those of the system.
func (t *TLS) Pool() (*x509.CertPool, error) {
	if len(t.Roots) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(t.Roots) {
		return nil, errors.New("spec: the trusted roots contain no certificate")
	}
	return pool, nil
}

// UnixPrefix is the prefix of Spec.Addr if the server listens on a Unix socket. The path
// follows, or @ and the name of an abstract socket.
const UnixPrefix = "unix:"

// Scheme returns the scheme of the URLs of such connections.
func (s *Spec) Scheme() string {
	if s.TLS != nil {
		return "https"
	}
	return "http"
}

// Places returns how many requests may be in flight without pipelining; with Listen, the
// number of subscribers.
func (s *Spec) Places() int { return s.Connections * max(s.Streams, 1) }

// DefaultMaxBody is the limit if Spec.MaxBody is 0.
const DefaultMaxBody = 1 << 30

// Validate returns an error that names the first invalid field.
func (s *Spec) Validate() error {
	bad := func(field string, value any) error {
		return fmt.Errorf("spec: %s is %v", field, value)
	}
	switch {
	case len(s.Request) == 0 && s.Scenario == nil:
		return errors.New("spec: request is empty")
	case len(s.Request) > 0 && s.Scenario != nil:
		return errors.New("spec: a request and a scenario")
	case len(s.More) > 0 && (s.Scenario != nil || s.Listen != nil || s.HTTP2):
		return errors.New("spec: more requests with a scenario, subscribers or HTTP/2")
	case slices.ContainsFunc(s.More, func(r []byte) bool { return len(r) == 0 }):
		return errors.New("spec: one of more requests is empty")
	case s.Listen != nil && (s.Idle || s.Scenario != nil || s.Arrivals != nil || s.Pipeline != 1 || s.PerConnection > 0):
		return errors.New("spec: subscribers with idle connections, a scenario, arrivals, a pipeline or fresh connections")
	case s.Scenario != nil && s.Idle:
		return errors.New("spec: a scenario with idle connections")
	case s.Connections < 1:
		return bad("connections", s.Connections)
	case s.Initial < 0 || s.Initial > s.Connections || s.Initial > 0 && (s.Arrivals == nil || s.Scenario != nil):
		return bad("initial connections", s.Initial)
	case s.Pipeline < 1:
		return bad("pipeline", s.Pipeline)
	case s.Arrivals != nil && s.Pipeline != 1:
		return bad("pipeline of an open loop", s.Pipeline)
	case s.Idle && (s.Pipeline != 1 || s.Arrivals != nil):
		return errors.New("spec: idle connections with a pipeline or arrivals")
	case s.Scenario == nil && s.Listen == nil && (s.Expect.Status < 200 || s.Expect.Status > 999):
		return bad("expected status", s.Expect.Status)
	case s.Warmup < 0:
		return bad("warmup", s.Warmup)
	case s.Window <= 0:
		return bad("window", s.Window)
	case s.Tick <= 0:
		return bad("tick", s.Tick)
	case s.Timeout <= 0:
		return bad("timeout", s.Timeout)
	}
	if err := errors.Join(s.validateConnections(), s.validateProtocol(), s.validateRequests()); err != nil {
		return err
	}
	if s.Listen != nil {
		if err := errors.Join(s.Listen.Validate(), s.validateListen()); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
	}
	if s.Ramp != nil {
		if err := s.validateRamp(); err != nil {
			return fmt.Errorf("spec: ramp: %w", err)
		}
	}
	if s.Arrivals != nil {
		if err := s.Arrivals.Validate(); err != nil {
			return fmt.Errorf("spec: arrivals: %w", err)
		}
	}
	return nil
}

// validateListen validates what subscribers need of their connections.
func (s *Spec) validateListen() error {
	switch c := s.Listen; {
	case c.WebSocket != nil && s.HTTP2:
		return errors.New("listen: WebSockets over HTTP/2")
	case c.Topics > 1 && s.HTTP2:
		return errors.New("listen: several topics over HTTP/2")
	case c.Slow != nil && (s.HTTP2 || s.TLS != nil):
		return errors.New("listen: slow subscribers with TLS or HTTP/2")
	}
	return nil
}

// validateRamp validates the ramp of a closed loop.
func (s *Spec) validateRamp() error {
	switch {
	case s.Arrivals != nil || s.Idle || s.Listen != nil:
		return errors.New("it requires a closed loop")
	case s.Ramp.Most() > s.Connections:
		return fmt.Errorf("up to %d of %d connections", s.Ramp.Most(), s.Connections)
	}
	return s.Ramp.Validate()
}

// validateConnections validates the options of connections.
func (s *Spec) validateConnections() error {
	switch {
	case s.PerConnection < 0:
		return fmt.Errorf("spec: requests per connection is %d", s.PerConnection)
	case s.PerConnection > 0 && s.Idle:
		return errors.New("spec: fresh connections with idle connections")
	case strings.HasPrefix(s.Addr, UnixPrefix) && (len(s.Sources) > 0 || s.Congestion != ""):
		return errors.New("spec: source addresses or congestion control of a Unix socket")
	case s.ConnectRate < 0 || math.IsNaN(s.ConnectRate):
		return fmt.Errorf("spec: connect rate is %v", s.ConnectRate)
	case s.Slow.Read < 0 || s.Slow.Write < 0 || s.Slow.Connections < 0:
		return fmt.Errorf("spec: slow connections are %+v", s.Slow)
	case s.MaxBody < 0:
		return fmt.Errorf("spec: longest body is %d", s.MaxBody)
	}
	return nil
}

// validateRequests validates the limit on requests, which includes those under way when the
// window begins.
func (s *Spec) validateRequests() error {
	under := uint64(s.Places()) * uint64(s.Pipeline)
	switch {
	case s.Requests > 0 && (s.Listen != nil || s.Idle):
		return errors.New("spec: a number of requests with subscribers or idle connections")
	case s.Requests > 0 && s.Requests < under && s.Warmup > 0 && s.Arrivals == nil:
		return fmt.Errorf("spec: requests is %d, and %d are under way after the warm-up", s.Requests, under)
	}
	return nil
}

// maxStreams is the limit on requests in flight on an HTTP/2 connection.
const maxStreams = 4096

// validateProtocol validates the options of TLS and HTTP/2.
func (s *Spec) validateProtocol() error {
	switch {
	case !s.HTTP2 && s.Streams != 0:
		return fmt.Errorf("spec: streams is %d without HTTP/2", s.Streams)
	case s.HTTP2 && (s.Streams < 1 || s.Streams > maxStreams):
		return fmt.Errorf("spec: streams is %d, 1 to %d are possible", s.Streams, maxStreams)
	case s.HTTP2 && s.Pipeline != 1:
		return errors.New("spec: a pipeline with HTTP/2, which has streams")
	case s.HTTP2 && s.Idle:
		return errors.New("spec: idle connections with HTTP/2")
	case (s.HTTP2 || s.TLS != nil) && s.Slow != (Slow{}):
		return errors.New("spec: slow connections with TLS or HTTP/2")
	}
	return nil
}

// Expect is what every response must be. Status and length are checked for every response,
// the bytes of the body for a sample.
type Expect struct {
	Status int    `json:"status"`
	Body   []byte `json:"body"` // nil: any body
}
