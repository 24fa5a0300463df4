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
	{Title: "Load", Flags: "connections duration warmup ramp pipeline rate arrivals stages burst find threshold"},
	{Title: "Request", Flags: "method header body body-file upload chunked status check timeout"},
	{Title: "Users", Flags: "targets try think seed"},
	{Title: "Connections", Flags: "requests-per-connection connect-rate sources slow-read slow-write slow-connections max-body keep-going io"},
	{Title: "TLS and HTTP/2", Flags: "http2 streams insecure tls-insecure ca server-name tls-resume"},
	{Title: "Subscribers of event streams", Flags: "sse ndjson length-delimited stamp ids retry stall"},
	{Title: "The server's side", Flags: "pid control pprof profile profile-time profile-dir"},
	{Title: "Several generators", Flags: "workers bus bus-credentials name wait"},
	{Title: "In a Kubernetes cluster", Flags: "kubernetes image namespace manifests apply kube-context pod-cpu pod-memory"},
	{Title: "Metrics", Flags: "export export-run export-linger export-optional"},
	{Title: "Results", Flags: "json csv hdr html quiet allow-invalid cpu help"},
}

// Flags is the command line of a run, as it was written.
type Flags struct {
	connections, pipeline         int
	duration, warmup, timeout     time.Duration
	rate, arrivals, stages, burst string
	seed                          uint64
	ramp, find                    string
	thresholds                    []string
	method, body, bodyFile        string
	headers                       []string
	status                        int
	cpu                           string
	pids                          []int
	json, csv, hdr, html          string
	quiet, allowInvalid           bool

	users    userFlags
	protocol protocolFlags
	streams  streamFlags
	runtime  runtimeFlags
	fleet    fleetFlags
	kube     kubeFlags
	export   exportFlags
}

// Bind makes the flags.
func (l *Flags) Bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.IntVarP(&l.connections, "connections", "c", 64, "open connections")
	f.DurationVarP(&l.duration, "duration", "d", 10*time.Second, "measured time; of --stages their sum unless this is given, of --find that of one step")
	f.DurationVar(&l.warmup, "warmup", 2*time.Second, "time before it; of a closed loop longer while the rate has a trend")
	f.StringVar(&l.ramp, "ramp", "", "change the number of connections of a closed loop in straight lines, from -c on (from 0 without it): `DURATION:CONNECTIONS,...`")
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
	l.users.bind(f)
	l.protocol.bind(f)
	f.DurationVar(&l.timeout, "timeout", 10*time.Second, "for connecting, and for one answer")
	f.StringVar(&l.cpu, "cpu", "", "`CPU` of the generator (default: the last one allowed)")
	f.IntSliceVar(&l.pids, "pid", nil, "`PID` of the server (default: whoever listens on the port, if on this machine)")
	l.runtime.bind(f)
	f.StringVar(&l.json, "json", "", "write all of it as JSON to this `FILE`; - is standard output")
	f.StringVar(&l.csv, "csv", "", "write the time series to this `FILE`")
	f.StringVar(&l.hdr, "hdr", "", "write the distributions to this `FILE`, an HdrHistogram log")
	f.StringVar(&l.html, "html", "", "write a page with charts to this `FILE`")
	f.BoolVar(&l.quiet, "quiet", false, "no live view and no progress; with --json - no summary either")
	l.fleet.bind(f)
	l.kube.bind(f)
	f.BoolVar(&l.allowInvalid, "allow-invalid", false, "exit as if an INVALID run were valid")
	l.streams.bind(f)
	l.export.bind(f)
}

// userFlags say what users ask for, and how they behave.
type userFlags struct {
	targets, think      string
	checks              []string
	upload              string
	chunked             bool
	perConnection       int
	connectRate         string
	sources             []string
	slowRead, slowWrite string
	slowConnections     int
	maxBody             string
	keepGoing, try      bool
}

func (l *userFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&l.upload, "upload", "", "`SIZE` of a body that is made up as it is sent, as 100MiB")
	f.BoolVar(&l.chunked, "chunked", false, "send the body in chunks, without a Content-Length")
	f.StringArrayVar(&l.checks, "check", nil, "`CHECK` of every answer, as 'json $.ok equals true'; may be repeated")
	f.StringVar(&l.targets, "targets", "", "`FILE` of a scenario: a mix of requests, flows, variables, checks; the URL is its base. - is standard input")
	f.BoolVar(&l.try, "try", false, "send each request once, show it with its answer and checks, and measure nothing")
	f.StringVar(&l.think, "think", "", "`TIME` between an answer and the next request: 1s, uniform:1s,3s, exponential:2s, lognormal:120ms,0.8, file:NAME")
	f.IntVar(&l.perConnection, "requests-per-connection", 0, "answers after which a connection is replaced by a fresh one (0: never)")
	f.StringVar(&l.connectRate, "connect-rate", "", "`RATE` at which connections are made, at most, written as --rate")
	f.StringSliceVar(&l.sources, "sources", nil, "`ADDRESSES` to connect from: 127.0.0.2, 127.0.0.2-127.0.0.9, 127.0.1.0/24")
	f.StringVar(&l.slowRead, "slow-read", "", "`BYTES` a second that a client takes of its answers, as 10KiB")
	f.StringVar(&l.slowWrite, "slow-write", "", "`BYTES` a second that a client sends of its requests")
	f.IntVar(&l.slowConnections, "slow-connections", 0, "connections that are that slow (0: all)")
	f.StringVar(&l.maxBody, "max-body", "1GiB", "`SIZE` from which on a body of unknown length is an error")
	f.BoolVar(&l.keepGoing, "keep-going", false, "go on though the server refuses connections, or answers nothing right, for long")
}

// protocolFlags say what is spoken with the server.
type protocolFlags struct {
	http2, insecure, resume bool
	streams                 int
	serverName, ca          string
}

func (l *protocolFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.http2, "http2", false, "speak HTTP/2: with https by ALPN, with http at once (h2c, prior knowledge)")
	f.IntVar(&l.streams, "streams", 1, "requests in flight, or subscribers, on each connection of --http2")
	f.BoolVar(&l.insecure, "insecure", false, "take any certificate of the server")
	f.BoolVar(&l.insecure, "tls-insecure", false, "the same as --insecure")
	f.BoolVar(&l.resume, "tls-resume", false, "resume TLS sessions: a fresh connection is one of a client that has been there before")
	f.StringVar(&l.serverName, "server-name", "", "`NAME` that TLS asks for, and that the certificate is checked against (default: that of the URL)")
	f.StringVar(&l.ca, "ca", "", "`FILE` with the certificates that are trusted, PEM (default: those of the system)")
}

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

func (l *streamFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.sse, "sse", false, "each connection, or stream of HTTP/2, is a subscriber of server-sent events, which are counted instead of answers")
	f.BoolVar(&l.ndjson, "ndjson", false, "each is a subscriber of a stream of JSON, one record a line")
	f.StringVar(&l.lengths, "length-delimited", "", "each is one of a stream of records with their lengths before them: `u32` (four bytes, big endian; the default) or varint (as protobuf has it)")
	f.Lookup("length-delimited").NoOptDefVal = "u32"
	f.StringVar(&l.stamp, "stamp", "", "where in an event the time is at which it was sent: `SOURCE[:UNIT]`, as ts, meta.sent:ms (keys of its JSON), @data or @id:us (a field that begins with it)")
	f.StringVar(&l.ids, "ids", "", "`SOURCE` in an event of a number that grows by one (default: @id with --sse; none: ids are not counted)")
	f.StringVar(&l.retry, "retry", retryDefault, "`TIME` until a subscriber whose stream ended comes back, unless the server says another (field retry); never: it does not")
	f.DurationVar(&l.stall, "stall", 0, "time without a byte after which a subscriber gives its connection up, an error, and comes back (0: it waits)")
}

// runtimeFlags is what is asked about the server's Go runtime.
type runtimeFlags struct {
	control, pprof, profile, dir string
	time                         time.Duration
}

func (l *runtimeFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&l.control, "control", "", "read the server's Go runtime from this `SOCKET` (docs/control.md)")
	f.StringVar(&l.pprof, "pprof", "", "read it from net/http/pprof at this `URL`, as http://127.0.0.1:6060/debug/pprof")
	f.StringVar(&l.profile, "profile", "", "take these `KINDS` of profiles within the window: cpu,heap,goroutine,mutex,allocs,block")
	f.DurationVar(&l.time, "profile-time", 10*time.Second, "that they cover, in whole seconds; no more than the window")
	f.StringVar(&l.dir, "profile-dir", "", "`DIRECTORY` for them (default: profiles beside the --json file, or redline-profiles-TIME)")
}

// fleetFlags are those of several workers.
type fleetFlags struct {
	workers          int
	bus, credentials string
	wait             time.Duration
}

func (l *fleetFlags) bind(f *pflag.FlagSet) {
	f.IntVar(&l.workers, "workers", 1, "generator processes, more where one may not open as many files as there are connections; connections and rates are those of all together")
	f.StringVar(&l.bus, "bus", "", "lead workers on other machines over NATS: `URL` of the server, or listen:HOST:PORT for one of its own")
	f.StringVar(&l.credentials, "bus-credentials", "", "`FILE` with the NATS user's JWT and seed")
	f.DurationVar(&l.wait, "wait", 2*time.Minute, "how long workers may take to join over the --bus")
}

// kubeFlags are those of a run in a Kubernetes cluster.
type kubeFlags struct {
	kubernetes, apply           bool
	image, namespace, manifests string
	kubeContext                 string
	podCPU, podMemory           string
}

func (l *kubeFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.kubernetes, "kubernetes", false, "write the manifests of this run in a Kubernetes cluster, instead of making it")
	f.StringVar(&l.image, "image", "", "`IMAGE` with redline as its entry point")
	f.StringVar(&l.namespace, "namespace", "", "`NAME` of the namespace (default: that of kubectl's context)")
	f.StringVar(&l.manifests, "manifests", "-", "write them to this `FILE`; - is standard output")
	f.BoolVar(&l.apply, "apply", false, "start the workers with kubectl, lead them from here over the --bus, and delete them")
	f.StringVar(&l.kubeContext, "kube-context", "", "`NAME` of kubectl's context")
	f.StringVar(&l.podCPU, "pod-cpu", "1", "`CPUS` of each pod")
	f.StringVar(&l.podMemory, "pod-memory", "512Mi", "`MEMORY` of each pod")
}

// exportFlags say where figures go while the run goes on.
type exportFlags struct {
	to       []string
	run      string
	linger   time.Duration
	optional bool
}

func (l *exportFlags) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&l.to, "export", nil, "send the figures, while the run goes on, to `FORMAT[=WHERE]`: prometheus=:9464 (serves /metrics), remote-write=URL, otlp=URL, influxdb=URL or influxdb=FILE; may be repeated")
	f.StringVar(&l.run, "export-run", "", "`NAME` of the run, the label run of what is exported (default: no such label)")
	f.DurationVar(&l.linger, "export-linger", 0, "`TIME` that /metrics stays after the run, at most, until the result has been fetched")
	f.BoolVar(&l.optional, "export-optional", false, "go on without a receiver that takes nothing, which is an error otherwise")
}
