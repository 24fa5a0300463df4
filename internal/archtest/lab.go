package archtest

// labRows is the part of the import table for the lab. Packages that are not listed may import
// all of the lab: the verbs, and the code that connects the packages.
var labRows = []Row{
	// The load generator, from the ground up.
	pure("~/lab/load/h1", "a client of HTTP/1.1 is a state machine on bytes"),
	pure("~/lab/load/h2", "a client of HTTP/2 is a state machine on bytes", "golang.org/x/net/http2/hpack"),
	pure("~/lab/load/ws", "a client of WebSockets is a state machine on bytes"),
	pure("~/lab/load/sse", "a reader of streams is a state machine on bytes"),
	pure("~/lab/load/arrive", "when requests are due is a function of time and seed"),
	{
		Package: "~/lab/load/objective", May: []string{"~/lab/results", "~/lab/report"}, Never: performsIO, Tests: []string{"github.com/HdrHistogram/..."},
		Why: "it never performs I/O: a search calls a function to try a rate",
	},
	{
		Package: "~/lab/load/tally", Never: []string{"net", "net/http/...", "os/..."},
		May: []string{"github.com/HdrHistogram/...", "~/lab/results", "~/lab/load/spec", "~/lab/load/arrive", "~/lab/load/h2", "~/lab/load/tlsclient"},
		Why: "the counts and distributions of a run need no I/O",
	},
	{
		Package: "~/lab/load/spec", Never: []string{"net", "net/http/...", "syscall"},
		May: []string{"~/lab/load/arrive", "~/lab/load/scenario/...", "~/lab/load/sse"},
		Why: "the specification and the result are data: they do not depend on the packages that make the load",
	},
	{Package: "~/lab/load/request", May: generator, Tests: []string{"*", "~/lab/..."}, Raw: true, Why: "a client of the generator depends neither on another client nor on the code that starts it"},
	{Package: "~/lab/load/subscribe", May: generator, Tests: []string{"*", "~/lab/..."}, Raw: true, Why: "a client of the generator depends neither on another client nor on the code that starts it"},
	{
		Package: "~/lab/load", May: []string{"~/lab/load/request", "~/lab/load/subscribe", "~/lab/load/run", "~/lab/load/spec", "~/lab/internal/...", "~/lab/spawn"},
		Tests: []string{"*", "~/lab/..."}, Why: "only the generator's process depends on all clients",
	},

	{
		Package: "~/lab/imports", May: []string{"go.yaml.in/yaml/v3", "mvdan.cc/sh/v3/...", "~/lab/load/scenario"}, Never: performsIO, Tests: []string{"~/lab/load/scenario"},
		Why: "sources are read by the command; importing is conversion of bytes",
	},

	{
		Package: "~/lab/load/export", Never: []string{"os/exec", "syscall", "golang.org/x/sys/..."},
		May: []string{
			"~/lab/load/present", "~/lab/load/arrive", "~/lab/load/objective", "~/lab/results", "~/lab/report", "~/lab/internal/redact",
			"github.com/prometheus/client_golang/...", "github.com/klauspost/compress/snappy", "google.golang.org/protobuf/encoding/protowire",
		},
		Tests: []string{"~/lab/load/spec", "~/lab/load/export/exporttest"},
		Why:   "figures are exported as they were observed: it neither makes the load nor looks at the server",
	},
	{
		Package: "~/lab/load/export/exporttest", May: []string{"github.com/klauspost/compress/snappy", "google.golang.org/protobuf/encoding/protowire"},
		Why: "the receiver of the tests decodes by the specifications, and shares no code with what it tests",
	},

	// The watch, from the ground up.
	{Package: "~/lab/watch", May: []string{"~/lab/stats"}, Never: performsIO, Why: "the axis of time, the counters and the marks are calculation: what is read comes from samplers"},
	{Package: "~/lab/watch/inetdiag", May: []string{"golang.org/x/sys/..."}, Raw: true, Why: "netlink is bytes in, sockets out, and depends on nothing of the lab"},
	{
		Package: "~/lab/watch/kernel", May: []string{"~/lab/watch", "~/lab/watch/inetdiag", "~/lab/internal/...", "~/lab/stats"},
		Tests: []string{"golang.org/x/sys/...", "os/exec"}, Never: []string{"net/http/...", "os/exec"}, Raw: true, Why: "the samplers of the kernel read; they neither start processes nor show figures",
	},
	{
		Package: "~/lab/watch/bpf", May: []string{"~/lab/watch", "~/lab/watch/bpf/program", "~/lab/internal/...", "~/lab/probe", "github.com/cilium/ebpf/...", "golang.org/x/sys/..."},
		Tests: []string{"net", "os/exec"}, Never: []string{"net", "net/http/...", "os/exec"}, Raw: true, Why: "events are counted by the kernel; the package neither starts processes nor opens connections",
	},
	{Package: "~/lab/watch/bpf/program", May: []string{"github.com/cilium/ebpf"}, Never: performsIO, Tests: []string{"os"}, Why: "the programs are bytes: loading them is the work of package bpf"},
	{
		Package: "~/lab/watch/output", May: []string{"~/lab/watch", "~/lab/report/...", "github.com/prometheus/client_golang/..."}, Never: []string{"os/...", "syscall"},
		Tests: []string{"os"}, Why: "an output receives events, and reads nothing of the process",
	},
	{
		Package: "~/lab/watch/page", May: []string{"~/lab/watch", "~/lab/watch/output", "~/lab/watch/page/internal/...", "~/lab/report/..."}, Never: []string{"os/...", "syscall"},
		Why: "an output receives events, and reads nothing of the process",
	},
	// The trace, from the ground up.
	{
		Package: "~/lab/trace", May: []string{"golang.org/x/exp/trace", "github.com/HdrHistogram/..."}, Never: performsIO,
		Tests: append([]string{"~/lab/trace/tracetest"}, performsIO...), Raw: true, Why: "an analysis reads bytes: where a trace comes from, and how it is shown, does not matter to it",
	},
	{Package: "~/lab/trace/tracetest", Never: performsIO, Why: "traces for tests are bytes, and share no code with what reads them"},
	{
		Package: "~/lab/trace/output", May: []string{"~/lab/trace", "~/lab/report/..."}, Never: []string{"os/...", "syscall"},
		Why: "an output receives a report, and reads nothing",
	},
	{
		Package: "~/lab/trace/page", May: []string{"~/lab/trace", "~/lab/trace/output", "~/lab/trace/page/internal/...", "~/lab/report/..."}, Never: []string{"os/...", "syscall"},
		Why: "an output receives a report, and reads nothing",
	},
	// Observation.
	{
		Package: "~/lab/gomem/functab", Never: performsIO, Tests: performsIO,
		Why: "it never performs I/O: a table of functions is bytes, and a stack is bytes of a process",
	},
	{
		Package: "~/lab/gomem", May: []string{"~/lab/gomem/functab", "github.com/google/pprof/profile", "golang.org/x/sys/unix"}, Never: []string{"net", "net/http/...", "os/exec"}, Tests: []string{"os/exec"}, Raw: true,
		Why: "a process is read from outside: through /proc alone, without a connection to it",
	},
	{
		Package: "~/lab/profile/symbols", May: []string{"github.com/ianlancetaylor/demangle"}, Never: performsIO, Tests: []string{"os/..."},
		Why: "it reads bytes that its user has opened, and decides nothing about where they come from",
	},
	{
		Package: "~/lab/profile/perfevent", May: []string{"golang.org/x/sys/unix"}, Never: []string{"net", "net/http/...", "os/exec"}, Tests: []string{"os/exec"}, Raw: true,
		Why: "events of the kernel are system calls and bytes: it knows neither profiles nor symbols",
	},
	{
		Package: "~/lab/profile/stacks",
		May:     []string{"~/lab/profile/perfevent", "~/lab/profile/symbols", "~/lab/internal/procfs", "github.com/google/pprof/profile", "golang.org/x/sys/unix"},
		Never:   []string{"net", "net/http/...", "os/exec"}, Tests: []string{"os/exec"}, Raw: true,
		Why: "a process is observed by the kernel: it needs no connection, and no other program",
	},

	// The diagnosis.
	{Package: "~/lab/diagnose", May: []string{"~/lab/profile/frames", "~/lab/report", "~/lab/results", "~/lab/stats", "~/lab/watch"}, Never: performsIO, Why: "evidence and causes are data and calculation: other packages gather the evidence"},
	{
		Package: "~/lab/diagnose/rules", May: []string{"~/lab/diagnose", "~/lab/report", "~/lab/watch"}, Never: performsIO, Tests: []string{"os", "~/lab/watch", "~/lab/stats"},
		Why: "a rule is calculation: it neither gathers evidence nor tries changes",
	},
	// The memory lab.
	{Package: "~/lab/oom", May: []string{"~/lab/report", "~/lab/report/screen", "~/lab/results"}, Never: performsIO, Why: "what gave way first is calculation: package command measures"},
	{
		Package: "~/lab/oom/group", May: []string{"~/lab/internal/procfs"}, Never: []string{"net", "net/http/...", "os/exec"}, Raw: true,
		Why: "a control group is files: it neither starts processes nor loads them",
	},
	// The zoo, a module of its own.
	{
		Package: "~/lab/diagnose/zoo", May: []string{"*", "~/lab/spawn", "~/lab/internal/tail", "~/lab/internal/procfs"}, Tests: []string{"~/lab/..."}, Raw: true,
		Why: "the harness starts processes as a comparison does; its tests are those of the diagnosis",
	},
	{
		Package: "~/lab/diagnose/zoo/species/blocking-cgo", May: []string{"C", "*", "~/lab/diagnose/zoo/service"},
		Why: "calls into C are its problem; no other package has them",
	},
	{Package: "~/lab/diagnose/zoo/...", May: []string{"*", "~/lab/diagnose/zoo/..."}, Raw: true, Why: "a species is an ordinary service, and shares no code with the instrument"},

	// Profiles, from the ground up.
	{Package: "~/lab/profile/frames", Never: performsIO, Why: "whose code a function is, and for what, follows from its names"},
	{
		Package: "~/lab/profile/tree", May: []string{"~/lab/profile", "~/lab/profile/frames", "~/lab/report", "github.com/google/pprof/profile"}, Never: performsIO,
		Tests: []string{"~/lab/profile/profiletest"}, Why: "the evaluation of a profile is calculation",
	},
	{
		Package: "~/lab/profile/rules", May: []string{"go.yaml.in/yaml/v3", "~/lab/profile/baseline", "~/lab/profile/frames"}, Never: performsIO,
		Tests: []string{"~/lab/profile", "~/lab/profile/tree", "~/lab/profile/profiletest"}, Why: "rules judge what was measured: they measure nothing",
	},
	{
		Package: "~/lab/profile/baseline", May: []string{"~/lab/profile/tree", "~/lab/stats", "~/lab/results", "~/lab/report", "~/lab/internal/file"}, Never: []string{"net", "net/http/...", "os/exec", "syscall"},
		Tests: []string{"~/lab/profile", "~/lab/profile/profiletest"}, Why: "a baseline is a file and its comparison: it takes no profiles",
	},

	// Statistics, verdicts and reports.
	{Package: "~/lab/stats", May: []string{"~/lab/results"}, Never: performsIO, Why: "statistics are calculation"},
	{Package: "~/lab/suite/toolchain", May: []string{"~/lab/internal/file", "~/lab/internal/tail"}, Never: []string{"net", "net/http/..."}, Tests: []string{"net/http/..."}, Raw: true, Why: "the command go knows proxies and checksums: what chooses a version only runs it"},
	{Package: "~/lab/verdict", May: []string{"~/lab/results", "~/lab/report", "~/lab/load/spec"}, Never: performsIO, Why: "a verdict is calculation"},
	{Package: "~/lab/results", May: []string{"github.com/HdrHistogram/...", "~/lab/internal/file"}, Why: "results are the contract between the other packages, and depend on none of them"},
	{Package: "~/lab/report/...", May: []string{"*", "~/lab/results", "~/lab/report/..."}, Why: "a report is generated only from results"},
	{Package: "~/lab/...", May: []string{"*", "~/lab/..."}, Raw: true, Why: "the instrument shares no code with what it measures"},
}

// generator lists the packages that the clients of the load generator are built from.
var generator = []string{
	"golang.org/x/sys/...", "github.com/HdrHistogram/...", "~/lab/internal/...", "~/lab/stats", "~/lab/results",
	"~/lab/load/spec", "~/lab/load/wire", "~/lab/load/run", "~/lab/load/tlsclient", "~/lab/load/tally",
	"~/lab/load/arrive", "~/lab/load/scenario/...", "~/lab/load/sse", "~/lab/load/ws", "~/lab/load/h1", "~/lab/load/h2",
}

// pure is the row of a package that never performs I/O, and imports nothing from this repository.
func pure(pkg, why string, tests ...string) Row {
	return Row{Package: pkg, Never: performsIO, Tests: append(append([]string{"~/lab/results"}, performsIO...), tests...), Why: "it never performs I/O: " + why}
}
