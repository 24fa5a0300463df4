package present

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// SchemaName is the value of Document.Schema.
const SchemaName = "redline.load"

// SchemaVersion is the version of the schema. A field is never given a new
// meaning within a version, only added.
const SchemaVersion = 1

// Document is one load run, whole.
type Document struct {
	Schema  string    `json:"schema"`  // SchemaName
	Version int       `json:"version"` // SchemaVersion
	Tool    string    `json:"tool"`    // version of the redline command
	Command []string  `json:"command"` // the arguments it was called with
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	URL     string    `json:"url"`
	Partial string    `json:"partial,omitempty"` // why the window is shorter than was asked for; empty when it is not

	Valid      bool               `json:"valid"` // every gate passed: the figures are those of the server
	Gates      []results.Gate     `json:"gates"`
	Thresholds []objective.Judged `json:"thresholds"` // in the order of the command line

	RequestsPerSecond float64           `json:"requests_per_second"`             // right answers a second
	Seconds           float64           `json:"seconds"`                         // the window's length, as measured
	Requests          uint64            `json:"requests"`                        // right answers in the window
	Wrong             uint64            `json:"wrong"`                           // answers that were not: of another status, length or body, or that failed a check; they are in Errors
	Answers           uint64            `json:"answers"`                         // sum of Requests and Wrong; of subscribers events
	Errors            map[string]uint64 `json:"errors"`                          // by kind
	AfterWindow       uint64            `json:"failed_after_window,omitempty"`   // of an open loop: arrivals that were due in the window and failed after it; not in Errors
	NoArrival         uint64            `json:"errors_of_no_arrival,omitempty"`  // of an open loop: of Errors, those not of arrivals due in the window
	Failing           uint64            `json:"failures"`                        // requests that failed or got no answer: Errors, Unanswered, AfterWindow and Open.Unfinished, less NoArrival
	NoTarget          uint64            `json:"failures_of_no_target,omitempty"` // with Targets: of Failing, those that no target counts, such as failed connects, setup, and arrivals that were never sent
	Unanswered        uint64            `json:"unanswered,omitempty"`            // of a closed loop: requests without an answer at the end, whose ages are in Latency
	Late              uint64            `json:"late,omitempty"`                  // of a closed loop: answers after the window that took more than twice as long as any in it; they are in Latency, and not in Requests
	ErrorRatio        float64           `json:"error_ratio"`                     // share of the requests that failed or got no answer, 0 to 1
	BytesIn           uint64            `json:"bytes_in"`                        // as the generator saw them
	BytesOut          uint64            `json:"bytes_out"`

	Latency   results.Latency   `json:"latency"`             // of an open loop: response time, from the intended send
	Open      *results.Open     `json:"open,omitempty"`      // of an open loop
	InFlight  *InFlight         `json:"in_flight,omitempty"` // of requests
	Stream    *Stream           `json:"stream,omitempty"`    // of subscribers; Latency is the delay of events then
	Generator results.Generator `json:"generator"`
	Server    *Server           `json:"server,omitempty"`   // when its processes are known
	Runtime   *Runtime          `json:"runtime,omitempty"`  // when the server tells
	Profiles  []Profile         `json:"profiles,omitempty"` // that were asked for
	Notes     []string          `json:"notes,omitempty"`    // what else has to be known of the figures
	Config    Config            `json:"config"`
	Machine   results.Machine   `json:"machine"`
	Series    []Point           `json:"series"`
	Workers   []Worker          `json:"workers,omitempty"` // of several, whose sum the rest is
	Search    *objective.Found  `json:"search,omitempty"`  // of a search, which the rest is the last kept trial of

	Steps      []Step              `json:"steps,omitempty"`      // of an open loop with stages
	Targets    []results.Target    `json:"targets,omitempty"`    // of a scenario, or of a request with checks
	RampSteps  []RampStep          `json:"ramp_steps,omitempty"` // of a closed loop with a ramp
	Tags       []results.Tag       `json:"tags,omitempty"`       // of the targets, by name and value
	Iterations *results.Iterations `json:"iterations,omitempty"` // of a scenario with flows
	Connects   Connects            `json:"connects"`
	FirstByte  *results.Latency    `json:"first_byte,omitempty"` // of right answers in the window, from the send on
	TLS        *TLS                `json:"tls,omitempty"`        // of secure connections
}

// Config is what was asked for.
type Config struct {
	Scenario      string     `json:"scenario,omitempty"`                // its file; method, status and sizes are those of each target then
	Checks        []string   `json:"checks,omitempty"`                  // of every answer, from the command line
	Think         string     `json:"think,omitempty"`                   // as it was written
	PerConnection int        `json:"requests_per_connection,omitempty"` // after which a connection is replaced
	ConnectRate   float64    `json:"connects_per_second,omitempty"`     // at most
	Unix          string     `json:"unix_socket,omitempty"`             // that is connected to; the URL's host is only named then
	Sources       []string   `json:"sources,omitempty"`                 // addresses that connections come from
	Slow          *spec.Slow `json:"slow,omitempty"`                    // connections on thin lines, bytes a second

	HTTP2   bool       `json:"http2,omitempty"`   // HTTP/1.1 if not
	Streams int        `json:"streams,omitempty"` // of HTTP/2: requests in flight, or subscribers, on each connection
	TLS     *TLSConfig `json:"tls,omitempty"`     // of an https URL

	Method          string  `json:"method"`
	Headers         int     `json:"header_bytes"` // of the request head as sent
	Body            int     `json:"body_bytes"`
	Status          int     `json:"status"` // expected of every answer; 0: what the checks say
	Connections     int     `json:"connections"`
	Ramp            string  `json:"ramp,omitempty"` // how the number of connections changes, in words; Connections is the most of them
	Pipeline        int     `json:"pipeline"`
	Arrivals        string  `json:"arrivals,omitempty"` // of an open loop, in words
	Seed            uint64  `json:"seed"`               // of all that is random
	Requests        uint64  `json:"requests,omitempty"` // after which the window ends: answers and errors, of an open loop arrivals; none: it ends with its time
	DurationSeconds float64 `json:"duration_seconds"`   // of the window, at most
	WarmupSeconds   float64 `json:"warmup_seconds"`
	TimeoutSeconds  float64 `json:"timeout_seconds"`
	CPUs            []int   `json:"cpus"`              // of the generator
	Workers         int     `json:"workers,omitempty"` // processes of it; none: 1

	Percentiles []float64 `json:"percentiles,omitempty"` // that tables show, each above 0 and below 100; none: the usual ones
}

// Server is what was seen of the server's processes in the window.
type Server struct {
	PIDs    []int           `json:"pids"`
	CPUs    int             `json:"cpus"` // that they may use; 0 when unknown
	CPU     results.CPU     `json:"cpu"`
	Memory  results.Memory  `json:"memory"`
	Process results.Process `json:"process"`
}

// Fill puts the generator's result into d, whose other parts are there, and
// judges it: the gates, then the thresholds.
func (d *Document) Fill(r *spec.Result, target float64, thresholds []objective.Objective) (err error) {
	d.Schema, d.Version = SchemaName, SchemaVersion
	if d.Latency, err = results.ParseLatency(r.Histogram); err != nil {
		return err
	}
	d.Seconds, d.Requests, d.Errors = r.Seconds, r.Requests, r.Errors
	d.Unanswered, d.Late = r.Unanswered, r.Late
	d.RequestsPerSecond = float64(r.Requests) / r.Seconds
	d.BytesIn, d.BytesOut = r.BytesIn, r.BytesOut
	d.Generator = results.Generator{
		CPUUtilisation: r.GeneratorCPU / r.Seconds, WarmupSeconds: r.WarmupSeconds, Steady: r.Steady, StealRatio: r.Steal, ForeignRatio: r.Foreign,
	}
	d.fillGenerator()
	if r.Open != nil {
		if d.Open, err = openOf(r.Open, target); err != nil {
			return err
		}
	}
	d.fillErrorRatio()
	if err := errors.Join(d.fillUsers(r), d.fillTLS(r)); err != nil {
		return err
	}
	d.fillSums()
	if d.Stream == nil {
		d.InFlight = d.inFlight(r)
	}
	if d.Stream != nil {
		if err := d.Stream.fill(r); err != nil {
			return err
		}
		d.Notes = append(d.Notes, d.Stream.seenNotes()...)
	}
	if d.Server != nil {
		d.fillServer(r)
	}
	if len(r.Gone) > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("of the server's processes these ended: %s; CPU time and memory are theirs until then, and those of no others that came", words(r.Gone)))
	}
	d.ChoosePercents(d.Config.Percentiles)
	d.noteFew()
	d.Generator.Bound = d.bound()
	if err := d.judge(r, thresholds); err != nil {
		return err
	}
	d.Thresholds = []objective.Judged{}
	for _, o := range thresholds {
		d.Thresholds = append(d.Thresholds, o.Judge(d.Figures()))
	}
	return nil
}

// fewRounds is how many answers each place of a closed loop must have had for its rate to be
// exact to some percent: those that were in flight at the window's edges count whole, or not.
const fewRounds = 10

// noteFew warns of a closed loop whose window was short for the time that answers took.
func (d *Document) noteFew() {
	places := d.Config.Connections * max(d.Config.Pipeline, d.Config.Streams, 1)
	if rounds := float64(d.Requests) / float64(max(places, 1)); d.Open == nil && d.Stream == nil && d.Requests > 0 && rounds < fewRounds {
		d.Notes = append(d.Notes, fmt.Sprintf("each of %d requests at a time was answered %.1f times in the window: the rate may be wrong by up to %.0f %%; use a longer --duration",
			places, rounds, 100/rounds))
	}
}

// openOf is the part of an open loop.
func openOf(o *spec.Open, target float64) (open *results.Open, err error) {
	open = &results.Open{
		TargetRate: target, Due: o.Due, Sent: o.Sent, Waited: o.Waited, Failed: o.Failed, Unfinished: o.Unfinished,
	}
	if open.Service, err = results.ParseLatency(o.Service); err != nil {
		return nil, err
	}
	if open.SendLag, err = results.ParseLatency(o.Lag); err != nil {
		return nil, err
	}
	open.Pacing, err = results.ParseLatency(o.Pacing)
	return open, err
}

// words lists numbers.
func words(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

func (d *Document) fillServer(r *spec.Result) {
	cpu := &d.Server.CPU
	cpu.UserSeconds, cpu.SysSeconds = r.ServerUser, r.ServerSys
	cpu.Utilisation = r.ServerCPU / r.Seconds / float64(max(d.Server.CPUs, 1))
	if r.Requests > 0 {
		cpu.PerRequestUs = r.ServerCPU / float64(r.Requests) * 1e6
	}
}

// Figures is what objectives are held against. Of an open loop an arrival that
// never was answered is an error, too.
func (d *Document) Figures() objective.Figures {
	f := objective.Figures{
		Latency: d.Latency, Rate: d.RequestsPerSecond, Answered: d.Requests,
		Errors: d.failures(), Lost: d.failures() - d.Unanswered, Targets: d.targetFigures(),
	}
	if d.Stream != nil {
		f.Stream = d.Stream.figures(d.Latency)
	}
	if d.Iterations != nil {
		f.Iterations = iterationFigures(&d.Iterations.Flow)
	}
	if d.Open != nil {
		f.Answered = d.Latency.Count - min(d.Open.Unfinished, d.Latency.Count)
		f.Lost = d.Open.Failed
	}
	return f
}

// failures is how many requests came to nothing.
func (d *Document) failures() uint64 { return verdict.Failures(d.Errors, d.Unanswered, d.Open) }

// fillErrorRatio divides the failures by all requests: in an open loop those that were due.
func (d *Document) fillErrorRatio() {
	failed := d.failures()
	all := failed + d.Requests
	if d.Open != nil {
		all = max(failed, d.Open.Due)
	}
	if all > 0 {
		d.ErrorRatio = float64(failed) / float64(all)
	}
}

// Failures returns how many requests failed or got no answer, and their kinds in words.
func (d *Document) Failures() (n uint64, kinds string) {
	if n = d.failures(); n == 0 {
		return 0, ""
	}
	var parts []string
	if len(d.Errors) > 0 {
		parts = append(parts, results.ErrorKinds(d.Errors))
	}
	if d.Unanswered > 0 {
		parts = append(parts, fmt.Sprintf("unanswered %d", d.Unanswered))
	}
	if d.Open != nil {
		if after, _ := d.outside(n); after > 0 {
			parts = append(parts, fmt.Sprintf("after the window %d", after))
		}
		if d.Open.Unfinished > 0 {
			parts = append(parts, fmt.Sprintf("unfinished %d", d.Open.Unfinished))
		}
		if _, other := d.outside(n); other > 0 {
			parts = append(parts, fmt.Sprintf("less %d not of requests due in the window", other))
		}
	}
	return n, strings.Join(parts, ", ")
}

// Kept reports whether all thresholds were.
func (d *Document) Kept() bool {
	for _, j := range d.Thresholds {
		if !j.Kept {
			return false
		}
	}
	return true
}

// Encode writes d as indented JSON.
func (d *Document) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Load reads a document that Encode wrote. Fields that it does not know are ignored.
func Load(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	// The head first: what is of another kind, or version, may differ in types.
	var head struct {
		Schema  string
		Version int
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s is no run: %w; write one with redline load --json %[1]s URL", path, err)
	}
	switch {
	case head.Schema != SchemaName:
		return nil, fmt.Errorf("%s is no run of redline load: its schema is %q, not %q", path, head.Schema, SchemaName)
	case head.Version != SchemaVersion:
		return nil, fmt.Errorf("%s has version %d of the schema, and this redline reads %d: use the redline that wrote it, or run again",
			path, head.Version, SchemaVersion)
	}
	d := new(Document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; run again", path, err)
	}
	return d, nil
}
