package command

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
)

// The exit codes of a run beyond those of all verbs.
const (
	ExitBroken  = 3 // a threshold was not kept
	ExitInvalid = 4 // a gate failed: the figures are not to be believed
)

// Groups are the flags in the order in which one comes to need them.
var Groups = []cli.Group{
	{Title: "Load", Flags: "connections duration warmup pipeline rate arrivals stages burst find threshold"},
	{Title: "Request", Flags: "method header body body-file upload chunked status check timeout"},
	{Title: "Users", Flags: "targets try think seed"},
	{Title: "Connections", Flags: "requests-per-connection connect-rate sources slow-read slow-write slow-connections max-body keep-going io"},
	{Title: "TLS and HTTP/2", Flags: "http2 streams insecure tls-insecure ca server-name tls-resume"},
	{Title: "Subscribers of event streams", Flags: "sse ndjson length-delimited stamp ids retry stall"},
	{Title: "The server's side", Flags: "pid control pprof profile profile-time profile-dir"},
	{Title: "Several generators", Flags: "workers bus bus-credentials name wait"},
	{Title: "In a Kubernetes cluster", Flags: "kubernetes image namespace manifests apply kube-context pod-cpu pod-memory"},
	{Title: "Results", Flags: "json csv hdr html quiet allow-invalid cpu help"},
}

// Flags is the command line of a run.
type Flags struct {
	userFlags
	protocolFlags
	connections, pipeline         int
	duration, warmup, timeout     time.Duration
	rate, arrivals, stages, burst string
	seed                          uint64
	find                          string
	thresholds                    []string
	method, body, bodyFile        string
	headers                       []string
	status                        int
	cpu                           string
	pids                          []int
	json, csv, hdr, html          string
	quiet, allowInvalid           bool
	fleetFlags
	streamFlags

	inside viewFlags
}

// Bind makes the flags.
func (l *Flags) Bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.IntVarP(&l.connections, "connections", "c", 64, "open connections")
	f.DurationVarP(&l.duration, "duration", "d", 10*time.Second, "measured time; of --stages their sum unless this is given, of --find that of one step")
	f.DurationVar(&l.warmup, "warmup", 2*time.Second, "time before it; of a closed loop longer while the rate has a trend")
	f.IntVar(&l.pipeline, "pipeline", 1, "requests in flight on each connection of a closed loop")
	f.StringVarP(&l.rate, "rate", "r", "", "`RATE` of an open loop: requests a second, or 6000/m, or 50/100ms; with --stages the one that the first of them begins at (0 otherwise), of --find the first that is tried")
	f.StringVar(&l.arrivals, "arrivals", "constant", "how they are spread: constant or poisson")
	f.Uint64Var(&l.seed, "seed", 0, "of all that is random: poisson arrivals, think time, what a scenario draws (default: random, recorded)")
	f.StringVar(&l.stages, "stages", "", "change the rate in straight lines, from --rate on: `DURATION:RATE,...`")
	f.StringVar(&l.burst, "burst", "", "multiply the rate now and then: `FACTORx/EVERY[/FOR]`, as 1.5x/10s/2s")
	f.StringVar(&l.find, "find", "", "search for the highest rate that keeps this `OBJECTIVE`, as 'p99<10ms,errors<0.1%'")
	f.StringArrayVar(&l.thresholds, "threshold", nil, "exit with code 3 unless this `OBJECTIVE` is kept; may be repeated")
	f.StringVarP(&l.method, "method", "X", "", "of the request (default: GET, POST with a body)")
	f.StringArrayVarP(&l.headers, "header", "H", nil, "`'NAME: VALUE'` to send; may be repeated")
	f.StringVar(&l.body, "body", "", "`TEXT` to send")
	f.StringVar(&l.bodyFile, "body-file", "", "`FILE` to send; streamed when it is longer than 64 KiB")
	f.IntVar(&l.status, "status", 0, "status of a right answer (default: that of the first one, when it is a 2xx or 3xx)")
	l.bindUsers(f)
	l.bindProtocol(f)
	f.DurationVar(&l.timeout, "timeout", 10*time.Second, "for connecting, and for one answer")
	f.StringVar(&l.cpu, "cpu", "", "`CPU` of the generator (default: the last one allowed)")
	f.IntSliceVar(&l.pids, "pid", nil, "`PID` of the server (default: whoever listens on the port, if on this machine)")
	l.inside.bind(f)
	f.StringVar(&l.json, "json", "", "write all of it as JSON to this `FILE`; - is standard output")
	f.StringVar(&l.csv, "csv", "", "write the time series to this `FILE`")
	f.StringVar(&l.hdr, "hdr", "", "write the distributions to this `FILE`, an HdrHistogram log")
	f.StringVar(&l.html, "html", "", "write a page with charts to this `FILE`")
	f.BoolVar(&l.quiet, "quiet", false, "no live view and no progress; with --json - no summary either")
	l.bindFleet(f)
	f.BoolVar(&l.allowInvalid, "allow-invalid", false, "exit as if an INVALID run were valid")
	l.bindStreams(f)
}
