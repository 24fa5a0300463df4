package archtest

// Rules is an architecture. In package paths and import patterns, ~ stands for
// [Rules.Module]; "x/..." matches x and everything below it.
type Rules struct {
	Module   string              // path of the module at the top of the tree
	Modules  []string            // directories of the modules; each must hold Go files
	Rows     []Row               // the import table; the first row that matches a package is its own
	Requires map[string][]string // go.mod file to the modules that it may require; a file that is not listed may require any

	SoftLines    int               // lines of a file, unless LongFiles gives a reason
	HardLines    int               // lines of a file, without exception
	FuncLines    int               // lines of a function, unless annotated
	PackageFiles int               // Go files of a package that are neither tests nor generated, unless BigPackages gives a reason
	LongFiles    map[string]string // file to the reason it is over SoftLines
	BigPackages  map[string]string // package to the reason it is over PackageFiles
	Unproofed    map[string]string // directory to the reason why its wording is not checked
}

// Row says what one package, or everything below a directory, may do. The
// standard library may be imported freely except for Never; any other import
// that is not listed is forbidden, and so is C.
type Row struct {
	Package string   // pattern
	May     []string // import patterns; "*" is any package that is not ours
	Never   []string // patterns of the standard library that are forbidden
	Tests   []string // import patterns that test files may use on top, Never notwithstanding
	Raw     bool     // may make raw system calls and use the structures of package syscall that the kernel reads
	Asm     bool     // may hold assembly
	Why     string   // the rule as text; printed with a breach
}

// performsIO are the packages that a protocol must not import.
var performsIO = []string{"net", "net/http/...", "os/...", "syscall", "crypto/tls"}

// Redline is the architecture of this repository. docs/ARCHITECTURE.md describes the
// same rules: change both.
var Redline = Rules{
	Module:  "github.com/redline-go/redline",
	Modules: []string{".", "contrib", "examples/chi", "lab", "lab/diagnose/zoo", "peers"},
	Rows: append([]Row{
		// The engine, from the ground up.
		{Package: "~/internal/buf", Why: "base packages import nothing from this repository"},
		{Package: "~/internal/clock", Why: "base packages import nothing from this repository"},
		{Package: "~/internal/serial", Why: "base packages import nothing from this repository"},
		{Package: "~/internal/sys", May: []string{"golang.org/x/sys/..."}, Raw: true, Why: "base packages import nothing from this repository"},
		{Package: "~/internal/http1/scan", May: []string{"golang.org/x/sys/cpu"}, Asm: true, Why: "base packages import nothing from this repository"},
		{Package: "~/internal/static", Why: "the response to a request for a file is decided without exchange or connection"},
		{Package: "~/internal/learn", Why: "learning about handlers does not depend on what calls them"},
		{
			Package: "~/internal/nethttp", May: []string{"~/internal/exchange", "~/internal/learn", "~/internal/buf", "~/internal/serial"},
			Why: "handlers of net/http run on an exchange, whatever the protocol",
		},
		{Package: "~/internal/nethttptest", Tests: []string{"~", "golang.org/x/net/http2/hpack"}, Why: "the comparison with net/http uses only the public API"},
		{Package: "~/internal/exchange", May: []string{"~/internal/buf", "~/internal/learn"}, Why: "an exchange knows no protocol"},
		{
			Package: "~/internal/http1",
			May:     []string{"~/internal/exchange", "~/internal/transport", "~/internal/learn", "~/internal/buf", "~/internal/clock", "~/internal/http1/..."},
			Never:   performsIO[1:], Tests: append([]string{"~/internal/transport/transporttest"}, performsIO...),
			Why: "protocol never does I/O; it names net.Conn and net.Addr, to hand a connection over. Its tests may use the seeded fake",
		},
		{
			Package: "~/internal/http2/hpack", Never: performsIO, Tests: []string{"golang.org/x/net/http2/hpack"},
			Why: "compression of field lines knows neither frames nor streams. Its tests use the library as reference",
		},
		{
			Package: "~/internal/http2",
			May:     []string{"~/internal/exchange", "~/internal/transport", "~/internal/learn", "~/internal/buf", "~/internal/clock", "~/internal/http2/...", "golang.org/x/net/http2/hpack"},
			Never:   performsIO[1:], Tests: append([]string{"~/internal/transport/transporttest"}, performsIO...),
			Why: "protocol never does I/O; it names net.Addr",
		},
		{
			Package: "~/internal/tlsio", May: []string{"~/internal/transport", "~/internal/buf"},
			Tests: []string{"~/internal/transport/transporttest", "~/internal/transport/std", "~/internal/transport/epoll", "~/internal/transport/uring"},
			Why:   "TLS is a byte filter around a session of any protocol",
		},
		{Package: "~/internal/transport", May: []string{"~/internal/buf", "~/internal/learn"}, Why: "transport never knows a protocol"},
		{
			Package: "~/internal/transport/lead",
			May:     []string{"~/internal/transport", "~/internal/sys", "~/internal/buf", "~/internal/clock"},
			Why:     "the leader's role knows neither epoll nor io_uring",
		},
		{
			Package: "~/internal/transport/sockets",
			May:     []string{"~/internal/transport", "~/internal/transport/lead", "~/internal/sys", "~/internal/buf", "~/internal/clock"},
			Tests:   []string{"~/internal/transport/epoll", "~/internal/transport/uring"},
			Why:     "code shared by the drivers of sockets knows none of them",
		},
		transport("~/internal/transport/epoll"),
		transport("~/internal/transport/uring"),
		transport("~/internal/transport/std"),
		{Package: "~/internal/transport/transporttest", May: []string{"~/internal/transport", "~/internal/buf"}, Why: "transport never knows a protocol"},
		{
			Package: "~/internal/transport/transporttest/responder",
			May:     []string{"~/internal/transport", "~/internal/transport/epoll", "~/internal/transport/std", "~/internal/transport/uring", "~/internal/buf"},
			Why:     "the floor of the transports is measured without a protocol",
		},
		{
			Package: "~",
			May: []string{
				"~/internal/exchange", "~/internal/http1", "~/internal/http2", "~/internal/tlsio", "~/internal/transport",
				"~/internal/transport/epoll", "~/internal/transport/uring", "~/internal/transport/std", "~/internal/buf", "~/internal/clock",
				"~/internal/static", "~/internal/learn", "~/internal/nethttp", "~/certs",
			},
			Tests: []string{"~/internal/transport/transporttest", "~/restart"},
			Why:   "the engine imports its own internals, and nothing that is built on it",
		},
		{Package: "~/restart", Why: "a process is replaced the same way whatever server it runs"},
		{Package: "~/certs", Why: "certificates are files for any server that takes a tls.Config"},
		{Package: "~/tickets", Why: "sessions are resumed by any server that takes a tls.Config"},
		{Package: "~/middleware/...", May: []string{"~"}, Why: "code that is built on the engine uses only its public API"},
		{Package: "~/push/topic", Why: "the names of topics know no hub"},
		{Package: "~/push/format", Tests: []string{"~/push/pushtest"}, Why: "formats only append to slices. Their tests use decoders that share no code with them"},
		{Package: "~/push/...", May: []string{"~", "~/push/..."}, Why: "code that is built on the engine uses only its public API"},
		{Package: "~/client/...", May: []string{"~"}, Why: "code that is built on the engine uses only its public API"},
		{Package: "~/examples/chi/...", May: []string{"github.com/go-chi/chi/v5/...", "~"}, Why: "an example uses the public API and the package that it demonstrates"},
		{Package: "~/examples/...", May: []string{"~", "~/restart", "~/certs", "~/tickets", "~/middleware", "~/push/...", "~/client"}, Why: "an example uses only the public API"},
		{Package: "~/internal/archtest", Why: "the checker imports nothing from this repository"},

		// The other modules.
		{Package: "~/contrib/...", May: []string{"*", "~", "~/push/...", "~/middleware", "~/client", "~/contrib/..."}, Raw: true, Why: "an integration uses only the engine's public API"},
		{Package: "~/conformance/...", May: []string{"*", "~", "~/conformance/..."}, Why: "suites that others wrote meet the engine as its users do"},
		{Package: "~/peers/...", May: []string{"*", "~", "~/push/...", "~/middleware", "~/client", "~/contrib/control", "~/peers/..."}, Tests: []string{"~/contrib/pushws"}, Raw: true, Why: "a subject is a user of the public API, and shares no code with the instrument. The tests of compat have a browser open the WebSockets of `pushws`"},
	}, labRows...),
	Requires: map[string][]string{
		"go.mod": {"golang.org/x/sys", "golang.org/x/net"},
	},

	SoftLines:    400,
	HardLines:    800,
	FuncLines:    70,
	PackageFiles: 15,
	LongFiles:    map[string]string{},
	BigPackages: map[string]string{
		"internal/http1":                   "parser and session share code that neither exports",
		"internal/transport/sockets":       "a loop and its connections share state that only one goroutine may use: a file for each of their subjects",
		"internal/http2":                   "session and streams share one lock: a file for each of their subjects",
		"lab/cmd/redline":                  "a file for each verb",
		"lab/suite":                        "one comparison: a file for each kind of workload, and for each step from a subject to its figures",
		"lab/gomem":                        "one process: a file for each part of its runtime that is read, and for each way to find it",
		"lab/diagnose/rules":               "one view of the evidence: a file for each family of causes",
		"lab/load/command":                 "one verb: a file for each group of flags, and for each step of a run",
		"lab/load/present":                 "one document: a file for each part of it",
		"lab/load/subscribe":               "one event loop: a file for each kind of connection, and for what subscribers and publishers do",
		"lab/load/request":                 "one event loop: a file for each kind of connection and for each phase",
		"push":                             "one hub: a file for each of its nouns, under the same locks",
		"internal/transport/transporttest": "the suite's cases, a file for each subject, and the fake share sessions that check the contract",
		".":                                "the public API is one package, with a file for each of its nouns",
	},
	Unproofed: map[string]string{
		"results": "reports of runs, not tracked by git",
	},
}

// transport is the row of one implementation of the transport contract. Its
// tests run the conformance suite.
func transport(pkg string) Row {
	return Row{
		Package: pkg,
		May:     []string{"~/internal/transport", "~/internal/transport/lead", "~/internal/transport/sockets", "~/internal/sys", "~/internal/buf", "~/internal/clock", "~/internal/serial"},
		Tests:   []string{"~/internal/transport/transporttest"},
		Why:     "transport never knows a protocol",
	}
}
