package command

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
)

// The exit codes of a run, in addition to those of all verbs.
const (
	ExitBroken  = 3 // a threshold was not kept
	ExitInvalid = 4 // a gate failed: the figures are not valid; or a disturbance leaves a threshold undecided
)

// usualWarmup is the warm-up without a flag.
const usualWarmup = 2 * time.Second

// Groups lists the flags in the order of the help text.
var Groups = []cli.Group{
	{Title: "Load", Flags: "connections duration requests warmup ramp pipeline rate arrivals stages burst find threshold"},
	{Title: "Request", Flags: "method header body body-file upload chunked status check timeout"},
	{Title: "Users", Flags: "targets try think seed"},
	{Title: "Connections", Flags: "requests-per-connection connect-rate unix sources slow-read slow-write slow-connections max-body wait-for keep-going io"},
	{Title: "TLS and HTTP/2", Flags: "http2 streams insecure tls-insecure ca cert key server-name tls-resume"},
	{Title: "Subscribers of event streams", Flags: "sse ndjson length-delimited websocket websocket-send stamp ids retry stall topics churn slow-subscribers"},
	{Title: "Publishers to them", Flags: "publish publish-rate publish-size publish-header publish-connections"},
	{Title: "The server's side", Flags: "pid control pprof profile profile-time profile-dir"},
	{Title: "Several generators", Flags: "workers bus bus-credentials name wait"},
	{Title: "In a Kubernetes cluster", Flags: "kubernetes image namespace manifests apply kube-context pod-cpu pod-memory"},
	{Title: "Metrics", Flags: "export export-run export-linger export-optional"},
	{Title: "Results", Flags: "percentiles gates json csv hdr html junit summary quiet allow-invalid cpu help"},
}

// Flags is the command line of a run, as written.
type Flags struct {
	connections, pipeline         int
	duration, warmup, timeout     time.Duration
	waitFor                       time.Duration
	requests                      int64
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
	junit, summary                string
	percentiles                   string
	quiet, allowInvalid, gates    bool

	users    userFlags
	protocol protocolFlags
	streams  streamFlags
	runtime  runtimeFlags
	fleet    fleetFlags
	kube     kubeFlags
	export   exportFlags

	bound []string // names of the flags that another verb has; see BindOnly
}

// Bind adds the flags to f.
func (l *Flags) Bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.IntVarP(&l.connections, "connections", "c", 64, "open connections; without it an open loop makes more when arrivals wait, up to 1024 (not with --targets, whose connections are users, nor with --bus)")
	f.DurationVarP(&l.duration, "duration", "d", 10*time.Second, "measured time; with --stages the default is their sum, with --find it is the time of one step")
	f.Int64VarP(&l.requests, "requests", "n", 0, "`NUMBER` of requests after which the window ends, including errors; with --rate, arrivals. With --duration, whichever comes first")
	f.DurationVar(&l.warmup, "warmup", usualWarmup, "time before the measurement; a closed loop extends it while the rate has a trend; default with --requests: none")
	f.StringVar(&l.ramp, "ramp", "", "change the number of connections of a closed loop linearly, from -c (from 0 without it): `DURATION:CONNECTIONS,...`")
	f.IntVar(&l.pipeline, "pipeline", 1, "requests in flight on each connection of a closed loop")
	f.StringVarP(&l.rate, "rate", "r", "", "`RATE` of an open loop: requests a second, or 6000/m, or 50/100ms; with --stages the initial rate (default 0), with --find the first rate to try")
	f.StringVar(&l.arrivals, "arrivals", "constant", "distribution of the arrivals of --rate: constant or poisson")
	f.Uint64Var(&l.seed, "seed", 0, "seed of all random numbers: poisson arrivals, think time, values of a scenario (default: random, recorded)")
	f.StringVar(&l.stages, "stages", "", "change the rate linearly, from --rate: `DURATION:RATE,...`")
	f.StringVar(&l.burst, "burst", "", "multiply the rate periodically: `FACTORx/EVERY[/FOR]`, as 1.5x/10s/2s")
	f.StringVar(&l.find, "find", "", "search for the highest rate that keeps this `OBJECTIVE`, as 'p99<10ms,errors<0.1%'")
	f.StringArrayVar(&l.thresholds, "threshold", nil, "exit with code 3 unless this `OBJECTIVE` is kept; may be repeated")
	f.StringVarP(&l.method, "method", "X", "", "method of the request (default: GET, POST with a body)")
	f.StringArrayVarP(&l.headers, "header", "H", nil, "`'NAME: VALUE'` to send; may be repeated")
	f.StringVar(&l.body, "body", "", "`TEXT` to send")
	f.StringVar(&l.bodyFile, "body-file", "", "`FILE` to send; streamed if it is longer than 64 KiB")
	f.IntVar(&l.status, "status", 0, "status of a right answer (default: that of the first answer, if it is 2xx or 3xx)")
	l.users.bind(f)
	l.protocol.bind(f)
	f.DurationVar(&l.timeout, "timeout", 10*time.Second, "limit for connecting, and for one answer")
	f.DurationVar(&l.waitFor, "wait-for", 0, "`TIME` to wait for a server that does not listen yet")
	f.StringVar(&l.cpu, "cpu", "", "`CPU` of the generator (default: the last one allowed)")
	f.IntSliceVar(&l.pids, "pid", nil, "`PID` of the server (default: the process that listens on the port, if on this machine)")
	l.runtime.bind(f)
	f.StringVar(&l.percentiles, "percentiles", "", "`LIST` of percentiles in tables, as 50,75,95,99.95 (default: 50,90,95,99,99.9,99.99)")
	f.StringVar(&l.json, "json", "", "write the complete result as JSON to this `FILE`; - is standard output")
	f.StringVar(&l.csv, "csv", "", "write the time series to this `FILE`")
	f.StringVar(&l.hdr, "hdr", "", "write the distributions to this `FILE`, an HdrHistogram log")
	f.StringVar(&l.html, "html", "", "write a page with charts to this `FILE`")
	f.StringVar(&l.junit, "junit", "", "write thresholds and validity as JUnit XML to this `FILE`, for CI")
	f.StringVar(&l.summary, "summary", "", "append a summary in Markdown to this `FILE`, as $GITHUB_STEP_SUMMARY")
	f.BoolVar(&l.quiet, "quiet", false, "no live view and no progress; with --json - no summary either")
	l.fleet.bind(f)
	l.kube.bind(f)
	f.BoolVar(&l.allowInvalid, "allow-invalid", false, "exit as if an INVALID run were valid, and a disturbed one undisturbed")
	f.BoolVar(&l.gates, "gates", false, "print all checks of the run's validity, with their values and limits")
	l.streams.bind(f)
	l.export.bind(f)
}

// Plain reports whether each request is the one that the flags describe, and does not ask for a
// compressed answer.
func (l *Flags) Plain() bool {
	return l.users.targets == "" && !slices.ContainsFunc(l.headers, func(h string) bool {
		name, _, _ := strings.Cut(h, ":")
		return strings.EqualFold(name, "Accept-Encoding")
	})
}

// With returns the flags with a further header field for each request, as "Name: value".
func (l *Flags) With(header string) *Flags {
	with := *l
	with.headers = append(slices.Clip(l.headers), header)
	return &with
}

// BindOnly adds the flags of some of the [Groups], named by their titles, and those that are
// named themselves. All others have their defaults. It is for verbs that decide on the rest.
func (l *Flags) BindOnly(f *pflag.FlagSet, titles []string, names ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	l.Bind(all)
	for _, g := range Groups {
		if slices.Contains(titles, g.Title) {
			names = append(names, strings.Fields(g.Flags)...)
		}
	}
	all.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			f.AddFlag(flag)
			l.bound = append(l.bound, flag.Name)
		}
	})
}

// Uploading returns the flags with another size of the generated body of each request, in bytes: as
// --upload does.
func (l *Flags) Uploading(bytes int64) *Flags {
	copied := *l
	copied.users.upload = strconv.FormatInt(bytes, 10)
	return &copied
}

// userFlags define the requests and the behaviour of users.
type userFlags struct {
	targets, think      string
	checks              []string
	upload              string
	chunked             bool
	perConnection       int
	connectRate         string
	sources             []string
	unix                string
	slowRead, slowWrite string
	slowConnections     int
	maxBody             string
	keepGoing, try      bool
}

func (l *userFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&l.upload, "upload", "", "`SIZE` of a body that is generated while it is sent, as 100MiB")
	f.BoolVar(&l.chunked, "chunked", false, "send the body in chunks, without a Content-Length")
	f.StringArrayVar(&l.checks, "check", nil, "`CHECK` of every answer, as 'json $.ok equals true'; may be repeated")
	f.StringVar(&l.targets, "targets", "", "`FILE` of a scenario: a mix of requests, flows, variables, checks; the URL is its base. - is standard input")
	f.BoolVar(&l.try, "try", false, "send each request once, show it with its answer and checks, and measure nothing")
	f.StringVar(&l.think, "think", "", "`TIME` between an answer and the next request: 1s, uniform:1s,3s, exponential:2s, lognormal:120ms,0.8, file:NAME")
	f.IntVar(&l.perConnection, "requests-per-connection", 0, "answers after which a connection is replaced by a new one (0: never)")
	f.StringVar(&l.connectRate, "connect-rate", "", "maximum `RATE` of new connections, written as --rate")
	f.StringVar(&l.unix, "unix", "", "`SOCKET` to connect to, a path or @NAME of an abstract one; the URL defines the request")
	f.StringSliceVar(&l.sources, "sources", nil, "`ADDRESSES` to connect from: 127.0.0.2, 127.0.0.2-127.0.0.9, 127.0.1.0/24")
	f.StringVar(&l.slowRead, "slow-read", "", "`BYTES` a second that a client reads of its answers, as 10KiB")
	f.StringVar(&l.slowWrite, "slow-write", "", "`BYTES` a second that a client sends of its requests")
	f.IntVar(&l.slowConnections, "slow-connections", 0, "connections that are that slow (0: all)")
	f.StringVar(&l.maxBody, "max-body", "1GiB", "maximum `SIZE` of a body of unknown length; a larger one is an error")
	f.BoolVar(&l.keepGoing, "keep-going", false, "continue even if the server refuses connections, or answers nothing right, for a long time")
}

// protocolFlags define the protocol of connections.
type protocolFlags struct {
	http2, insecure, resume bool
	streams                 int
	serverName, ca          string
	cert, key               string
}

func (l *protocolFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.http2, "http2", false, "use HTTP/2: with https by ALPN, with http immediately (h2c, prior knowledge)")
	f.IntVar(&l.streams, "streams", 1, "requests in flight, or subscribers, on each connection of --http2")
	f.BoolVar(&l.insecure, "insecure", false, "accept any certificate of the server")
	f.BoolVar(&l.insecure, "tls-insecure", false, "the same as --insecure")
	f.BoolVar(&l.resume, "tls-resume", false, "resume TLS sessions on new connections, as returning clients do")
	f.StringVar(&l.serverName, "server-name", "", "`NAME` that TLS requests and checks the certificate against (default: the host of the URL)")
	f.StringVar(&l.ca, "ca", "", "`FILE` with the trusted certificates, PEM (default: those of the system)")
	f.StringVar(&l.cert, "cert", "", "`FILE` with the client certificate, for servers that require one, PEM")
	f.StringVar(&l.key, "key", "", "`FILE` with its private key, PEM (default: the file of --cert)")
}

// streamFlags is the command line of subscribers.
type streamFlags struct {
	sse, ndjson bool
	lengths     string
	stamp, ids  string
	retry       string
	stall       time.Duration
	crowd       crowdFlags
}

// retryDefault is the time that browsers wait before they reconnect, unless the server sets it:
// three seconds in Chromium and WebKit.
const retryDefault = "3s"

func (l *streamFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.sse, "sse", false, "each connection, or stream of HTTP/2, is a subscriber of server-sent events; events are counted instead of answers")
	f.BoolVar(&l.ndjson, "ndjson", false, "each is a subscriber of a stream of JSON, one record per line")
	f.StringVar(&l.lengths, "length-delimited", "", "each is a subscriber of a stream of records with length prefixes: `u32` (four bytes, big endian; the default) or varint (as in protobuf)")
	f.Lookup("length-delimited").NoOptDefVal = "u32"
	f.StringVar(&l.stamp, "stamp", "", "where an event has the time at which it was sent: `SOURCE[:UNIT]`, as ts, meta.sent:ms (keys of its JSON), @data or @id:us (a field that begins with it)")
	f.StringVar(&l.ids, "ids", "", "where an event has a number that increases by one: `SOURCE` (default: @id with --sse; none: ids are not counted)")
	f.StringVar(&l.retry, "retry", retryDefault, "`TIME` until a subscriber reconnects after the end of its stream, unless the server sets it (field retry); never: it does not")
	f.DurationVar(&l.stall, "stall", 0, "time without a byte after which a subscriber closes its connection, which counts as an error, and reconnects (0: never)")
	l.crowd.bind(f)
}

// runtimeFlags define what is read of the server's Go runtime.
type runtimeFlags struct {
	control, pprof, profile, dir string
	time                         time.Duration
}

func (l *runtimeFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&l.control, "control", "", "read the server's Go runtime from this `SOCKET` (docs/control.md)")
	f.StringVar(&l.pprof, "pprof", "", "read it from net/http/pprof at this `URL`, as http://127.0.0.1:6060/debug/pprof")
	f.StringVar(&l.profile, "profile", "", "take these `KINDS` of profiles within the window: cpu,heap,goroutine,mutex,allocs,block")
	f.DurationVar(&l.time, "profile-time", 10*time.Second, "period of a profile, in whole seconds; at most the window")
	f.StringVar(&l.dir, "profile-dir", "", "`DIRECTORY` for profiles (default: profiles next to the --json file, or redline-profiles-TIME)")
}

// fleetFlags are the flags of several workers.
type fleetFlags struct {
	workers          int
	bus, credentials string
	wait             time.Duration
}

func (l *fleetFlags) bind(f *pflag.FlagSet) {
	f.IntVar(&l.workers, "workers", 1, "number of generator processes; by default more than 1 if one cannot open enough files; connections and rates are totals of all workers")
	f.StringVar(&l.bus, "bus", "", "coordinate workers on other machines over NATS: `URL` of the server, or listen:HOST:PORT to start one")
	f.StringVar(&l.credentials, "bus-credentials", "", "`FILE` with the NATS user's JWT and seed")
	f.DurationVar(&l.wait, "wait", 2*time.Minute, "maximum time until all workers have joined over the --bus")
}

// kubeFlags are the flags of a run in a Kubernetes cluster.
type kubeFlags struct {
	kubernetes, apply           bool
	image, namespace, manifests string
	kubeContext                 string
	podCPU, podMemory           string
}

func (l *kubeFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.kubernetes, "kubernetes", false, "write the manifests of this run for a Kubernetes cluster, instead of running it")
	f.StringVar(&l.image, "image", "", "`IMAGE` with redline as its entry point")
	f.StringVar(&l.namespace, "namespace", "", "`NAME` of the namespace (default: that of kubectl's context)")
	f.StringVar(&l.manifests, "manifests", "-", "write them to this `FILE`; - is standard output")
	f.BoolVar(&l.apply, "apply", false, "start the workers with kubectl, coordinate them from here over the --bus, and delete them")
	f.StringVar(&l.kubeContext, "kube-context", "", "`NAME` of kubectl's context")
	f.StringVar(&l.podCPU, "pod-cpu", "1", "`CPUS` of each pod")
	f.StringVar(&l.podMemory, "pod-memory", "512Mi", "`MEMORY` of each pod")
}

// exportFlags define where figures are exported during the run.
type exportFlags struct {
	to       []string
	run      string
	linger   time.Duration
	optional bool
}

func (l *exportFlags) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&l.to, "export", nil, "export the figures during the run to `FORMAT[=WHERE]`: prometheus=:9464 (serves /metrics), remote-write=URL, otlp=URL, influxdb=URL or influxdb=FILE; may be repeated")
	f.StringVar(&l.run, "export-run", "", "`NAME` of the run, the label run of exported figures (default: no such label)")
	f.DurationVar(&l.linger, "export-linger", 0, "maximum `TIME` that /metrics is served after the run, until the result has been scraped")
	f.BoolVar(&l.optional, "export-optional", false, "continue if a receiver fails, which is an error otherwise")
}
