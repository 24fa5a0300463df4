package archtest

// labRows is the part of the import table that is the lab's. What is not listed may import
// all of the lab: the verbs, and what ties the packages together.
var labRows = []Row{
	// The load generator, from the ground up.
	pure("~/lab/load/h1", "a client of HTTP/1.1 is a machine of bytes"),
	pure("~/lab/load/h2", "a client of HTTP/2 is a machine of bytes", "golang.org/x/net/http2/hpack"),
	pure("~/lab/load/sse", "a reader of streams is a machine of bytes"),
	pure("~/lab/load/arrive", "when requests are due is a function of time and seed"),
	pure("~/lab/load/timer", "what is due at a time knows no clock"),
	pure("~/lab/load/reel", "requests in turn are bytes"),
	pure("~/lab/load/search", "a search asks a function what a rate does"),
	{
		Package: "~/lab/load/tally", Never: []string{"net", "net/http/...", "os/..."},
		May: []string{"github.com/HdrHistogram/...", "~/lab/results", "~/lab/load/spec", "~/lab/load/arrive", "~/lab/load/h2", "~/lab/load/tlsc"},
		Why: "the books of a run do no I/O",
	},
	{
		Package: "~/lab/load/spec", Never: []string{"net", "net/http/...", "syscall"},
		May: []string{"~/lab/load/arrive", "~/lab/load/scenario/...", "~/lab/load/sse"},
		Why: "what is asked, and what came of it, is data: it knows nobody who makes the load",
	},
	{Package: "~/lab/load/request", May: generator, Tests: []string{"*", "~/lab/..."}, Raw: true, Why: "a client of the generator knows no other client, and nobody who starts it"},
	{Package: "~/lab/load/subscribe", May: generator, Tests: []string{"*", "~/lab/..."}, Raw: true, Why: "a client of the generator knows no other client, and nobody who starts it"},
	{
		Package: "~/lab/load", May: []string{"~/lab/load/request", "~/lab/load/subscribe", "~/lab/load/spec", "~/lab/internal/...", "~/lab/spawn"},
		Tests: []string{"*", "~/lab/..."}, Why: "the generator's process is the only one to know all clients",
	},

	// What is concluded.
	{Package: "~/lab/stats", May: []string{"~/lab/results"}, Never: performsIO, Why: "statistics are calculation"},
	{Package: "~/lab/verdict", May: []string{"~/lab/results", "~/lab/load/spec"}, Never: performsIO, Why: "a verdict is calculation"},
	{Package: "~/lab/results", May: []string{"github.com/HdrHistogram/...", "~/lab/internal/file"}, Why: "the contract of everything else depends on nothing else"},
	{Package: "~/lab/report/...", May: []string{"*", "~/lab/results", "~/lab/report/..."}, Why: "a report is drawn from results alone"},
	{Package: "~/lab/...", May: []string{"*", "~/lab/..."}, Raw: true, Why: "the instrument shares no code with what it measures"},
}

// generator is what the clients of the load generator are made of.
var generator = []string{
	"golang.org/x/sys/...", "github.com/HdrHistogram/...", "~/lab/internal/...", "~/lab/stats", "~/lab/results",
	"~/lab/load/spec", "~/lab/load/wire", "~/lab/load/run", "~/lab/load/sock", "~/lab/load/ring", "~/lab/load/tlsc", "~/lab/load/tally", "~/lab/load/timer",
	"~/lab/load/arrive", "~/lab/load/reel", "~/lab/load/scenario/...", "~/lab/load/sse", "~/lab/load/h1", "~/lab/load/h2",
}

// pure is the row of a package that never performs I/O, and knows nothing of ours.
func pure(pkg, why string, tests ...string) Row {
	return Row{Package: pkg, Never: performsIO, Tests: append(append([]string{"~/lab/results"}, performsIO...), tests...), Why: "it never performs I/O: " + why}
}
