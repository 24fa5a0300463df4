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
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// SchemaName is the value of Document.Schema.
const SchemaName = "redline.load"

// SchemaVersion is the version of the schema. A field is never given a new
// meaning within a version, only added.
const SchemaVersion = 1

// Document is the complete record of one load run.
type Document struct {
	Schema  string    `json:"schema"`  // SchemaName
	Version int       `json:"version"` // SchemaVersion
	Tool    string    `json:"tool"`    // version of the redline command
	Command []string  `json:"command"` // arguments of the command
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	URL     string    `json:"url"`
	Partial string    `json:"partial,omitempty"` // why the window is shorter than requested; empty: it is not

	Valid      bool               `json:"valid"` // every gate passed, except those of disturbances: the figures are valid for the server
	Gates      []results.Gate     `json:"gates"`
	Thresholds []objective.Judged `json:"thresholds"` // in the order of the command line

	RequestsPerSecond float64           `json:"requests_per_second"`             // right answers a second
	Seconds           float64           `json:"seconds"`                         // measured length of the window
	Requests          uint64            `json:"requests"`                        // right answers in the window
	Statuses          map[string]uint64 `json:"statuses,omitempty"`              // answers by status, right or wrong
	Bodies            *spec.Sizes       `json:"bodies,omitempty"`                // of right answers
	Wrong             uint64            `json:"wrong"`                           // answers with another status, length or body, or that failed a check; included in Errors
	Answers           uint64            `json:"answers"`                         // Requests plus Wrong; with subscribers, events
	Errors            map[string]uint64 `json:"errors"`                          // by kind
	AfterWindow       uint64            `json:"failed_after_window,omitempty"`   // open loop: arrivals due in the window that failed after it; not in Errors
	NoArrival         uint64            `json:"errors_of_no_arrival,omitempty"`  // open loop: part of Errors that does not belong to arrivals due in the window
	Failing           uint64            `json:"failures"`                        // requests that failed or got no answer: Errors + Unanswered + AfterWindow + Open.Unfinished - NoArrival
	NoTarget          uint64            `json:"failures_of_no_target,omitempty"` // with Targets: part of Failing that no target counts, such as failed connects, setup, and arrivals never sent
	Unanswered        uint64            `json:"unanswered,omitempty"`            // closed loop: requests without an answer at the end; Latency includes their ages
	TimedOut          uint64            `json:"timed_out,omitempty"`             // requests that had no answer in time, included in Failing; Latency includes their ages, which are lower bounds
	Late              uint64            `json:"late,omitempty"`                  // closed loop: answers after the window that took more than twice as long as any in it; in Latency, not in Requests
	ErrorRatio        float64           `json:"error_ratio"`                     // share of the requests that failed or got no answer, 0 to 1
	BytesIn           uint64            `json:"bytes_in"`                        // as counted by the generator
	BytesOut          uint64            `json:"bytes_out"`

	Latency   results.Latency   `json:"latency"`             // open loop: response time, from the intended send
	Open      *results.Open     `json:"open,omitempty"`      // open loop only
	InFlight  *InFlight         `json:"in_flight,omitempty"` // of requests
	Stream    *Stream           `json:"stream,omitempty"`    // subscribers only; Latency then is the delay of events
	Generator results.Generator `json:"generator"`
	Stalls    []spec.Gap        `json:"stalls,omitempty"`   // the longest times of the window, over 50 ms, in which the generator did not run
	Silences  []spec.Gap        `json:"silences,omitempty"` // the longest times, over 100 ms, in which requests were in flight and none was answered or failed
	Server    *Server           `json:"server,omitempty"`   // nil if its processes are unknown
	Runtime   *Runtime          `json:"runtime,omitempty"`  // nil if the server does not report it
	Profiles  []Profile         `json:"profiles,omitempty"` // those requested
	Notes     []string          `json:"notes,omitempty"`    // remarks on the figures
	Config    Config            `json:"config"`
	Machine   results.Machine   `json:"machine"`
	Series    []Point           `json:"series"`
	Workers   []Worker          `json:"workers,omitempty"` // with several workers: each one; the other fields are their sum
	Search    *objective.Found  `json:"search,omitempty"`  // of a search; the other fields are its last kept trial

	Steps      []Step              `json:"steps,omitempty"`      // open loop with stages
	Targets    []results.Target    `json:"targets,omitempty"`    // of a scenario, or of a request with checks
	RampSteps  []RampStep          `json:"ramp_steps,omitempty"` // closed loop with a ramp
	Tags       []results.Tag       `json:"tags,omitempty"`       // of the targets, by name and value
	Iterations *results.Iterations `json:"iterations,omitempty"` // of a scenario with flows
	Connects   Connects            `json:"connects"`
	FirstByte  *results.Latency    `json:"first_byte,omitempty"` // of right answers in the window, from the send
	TLS        *TLS                `json:"tls,omitempty"`        // of secure connections
}

// Config is the requested load.
type Config struct {
	Scenario      string     `json:"scenario,omitempty"`                // its file; each target then has its own method, status and sizes
	Checks        []string   `json:"checks,omitempty"`                  // for every answer, from the command line
	Think         string     `json:"think,omitempty"`                   // as written
	PerConnection int        `json:"requests_per_connection,omitempty"` // requests after which a connection is replaced
	ConnectRate   float64    `json:"connects_per_second,omitempty"`     // upper limit
	Unix          string     `json:"unix_socket,omitempty"`             // path of the socket; the URL's host then is only a name
	Sources       []string   `json:"sources,omitempty"`                 // source addresses of the connections
	Slow          *spec.Slow `json:"slow,omitempty"`                    // slow connections, bytes a second

	HTTP2   bool       `json:"http2,omitempty"`   // false: HTTP/1.1
	Streams int        `json:"streams,omitempty"` // HTTP/2: requests in flight, or subscribers, on each connection
	TLS     *TLSConfig `json:"tls,omitempty"`     // of an https URL

	Method          string  `json:"method"`
	Headers         int     `json:"header_bytes"` // of the request head as sent
	Body            int     `json:"body_bytes"`
	Status          int     `json:"status"` // expected of every answer; 0: determined by the checks
	Connections     int     `json:"connections"`
	Most            int     `json:"connections_at_most,omitempty"` // open loop: as arrivals that wait for one get another; 0: Connections
	Unasked         bool    `json:"connections_unasked,omitempty"` // open loop: the flags do not set their number, so what waits for one waits for the server
	Ramp            string  `json:"ramp,omitempty"`                // how the number of connections changes, in words; Connections is the maximum
	Pipeline        int     `json:"pipeline"`
	Arrivals        string  `json:"arrivals,omitempty"` // open loop: in words
	Seed            uint64  `json:"seed"`               // of all random numbers
	Requests        uint64  `json:"requests,omitempty"` // after which the window ends: answers and errors; open loop: arrivals; 0: the time ends it
	DurationSeconds float64 `json:"duration_seconds"`   // maximum length of the window
	WarmupSeconds   float64 `json:"warmup_seconds"`
	TimeoutSeconds  float64 `json:"timeout_seconds"`
	CPUs            []int   `json:"cpus"`              // of the generator
	Workers         int     `json:"workers,omitempty"` // number of its processes; 0: 1

	Percentiles []float64 `json:"percentiles,omitempty"` // shown in tables, each above 0 and below 100; none: the defaults
}

// Server holds the measurements of the server's processes in the window.
type Server struct {
	PIDs    []int           `json:"pids"`
	CPUs    int             `json:"cpus"`                        // that the processes may use, without Taken; 0 if unknown
	Taken   int             `json:"cpus_of_generator,omitempty"` // that they may use too, but the generator keeps busy
	CPU     results.CPU     `json:"cpu"`
	Memory  results.Memory  `json:"memory"`
	Process results.Process `json:"process"`
	Ended   []int           `json:"ended_pids,omitempty"` // of PIDs, those that ended during the run
}

// Gone reports whether all processes of the server ended during the run. What answered after
// that is unknown, and so are the CPU time per request, which is 0, and the memory.
func (s *Server) Gone() bool { return len(s.Ended) > 0 && len(s.Ended) >= len(s.PIDs) }

// Fill adds the generator's result to d, whose other fields are set, and judges it: the
// gates, then the thresholds.
func (d *Document) Fill(r *spec.Result, target float64, thresholds []objective.Objective) (err error) {
	d.Schema, d.Version = SchemaName, SchemaVersion
	if d.Latency, err = results.ParseLatency(r.Histogram); err != nil {
		return err
	}
	d.Seconds, d.Requests, d.Errors = r.Seconds, r.Requests, r.Errors
	d.TimedOut, d.Statuses, d.Bodies = r.TimedOut, r.Statuses, r.Bodies
	d.Unanswered, d.Late, d.Stalls, d.Silences = r.Unanswered, r.Late, r.Stalls, r.Silences
	d.RequestsPerSecond = float64(r.Requests) / r.Seconds
	d.BytesIn, d.BytesOut = r.BytesIn, r.BytesOut
	d.Generator = tally.Generator(r, 1)
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
		d.Server.Ended = r.Gone
		d.fillServer(r)
	}
	if len(r.Gone) > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("these processes of the server ended: %s; CPU time and memory include them until then, and no process that replaced them", words(r.Gone)))
	}
	d.ChoosePercents(d.Config.Percentiles)
	d.noteFew()
	d.noteSilences()
	d.noteVarying()
	d.noteWaited()
	d.noteAfter()
	d.Generator.Bound = d.bound()
	if err := d.judge(r, thresholds); err != nil {
		return err
	}
	d.Thresholds = []objective.Judged{}
	for _, o := range thresholds {
		d.Thresholds = append(d.Thresholds, o.Judge(d.Figures()))
	}
	d.doubtThresholds(thresholds)
	return nil
}

// fewRounds is the number of answers that each place of a closed loop needs for a rate that is
// exact to a few percent: a request in flight at an edge of the window counts fully or not at all.
const fewRounds = 10

// noteFew warns if the window of a closed loop was short compared with the time of an answer.
func (d *Document) noteFew() {
	places := d.Config.Connections * max(d.Config.Pipeline, d.Config.Streams, 1)
	if rounds := float64(d.Requests) / float64(max(places, 1)); d.Open == nil && d.Stream == nil && d.Requests > 0 && rounds < fewRounds {
		d.Notes = append(d.Notes, fmt.Sprintf("each of %d requests at a time was answered %.1f times in the window: the rate may be wrong by up to %.0f %%; use a longer --duration",
			places, rounds, 100/rounds))
	}
}

// openOf returns the results of an open loop.
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

// words formats a list of numbers.
func words(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

func (d *Document) fillServer(r *spec.Result) {
	d.Server.CPU = tally.ServerCPU(r, d.Server.CPUs)
	if d.Server.Gone() {
		d.Server.CPU.PerRequestUs = 0
	}
}

// Figures returns the measurements that objectives are compared with. In an open loop, an
// arrival that was never answered is also an error.
func (d *Document) Figures() objective.Figures {
	f := objective.Figures{
		Latency: d.Latency, Rate: d.RequestsPerSecond, Answered: d.Requests,
		Errors: d.failures(), Lost: d.failures() - d.Unanswered, Bounds: d.TimedOut, Targets: d.targetFigures(),
	}
	if d.Stream != nil {
		f.Stream = d.Stream.figures(d.Latency)
	}
	if d.Iterations != nil {
		f.Iterations = iterationFigures(&d.Iterations.Flow)
	}
	if d.Open != nil {
		f.Answered = d.Latency.Count - min(d.Open.Unfinished+d.TimedOut, d.Latency.Count)
		f.Lost = d.Open.Failed
	}
	return f
}

// failures returns the number of requests that failed.
func (d *Document) failures() uint64 { return verdict.Failures(d.Errors, d.Unanswered, d.Open) }

// fillErrorRatio divides the failures by all requests; in an open loop, by those that were due.
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
			parts = append(parts, fmt.Sprintf("minus %d not of requests due in the window", other))
		}
	}
	return n, strings.Join(parts, ", ")
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

// Load reads a document that Encode wrote. Unknown fields are ignored.
func Load(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	// Decode schema and version first: in other kinds and versions, types may differ.
	var head struct {
		Schema  string
		Version int
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s is not a run: %w; write one with redline load --json %[1]s URL", path, err)
	}
	switch {
	case head.Schema != SchemaName:
		return nil, fmt.Errorf("%s is not a run of redline load: its schema is %q, not %q", path, head.Schema, SchemaName)
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
