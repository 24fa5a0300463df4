// Package command is the verb load, from its flags to its exit code. Each step passes a value
// to the next one:
//
//	flags.go      Flags     the command line as written
//	plan*.go      plan      the resolved flags; immutable
//	before.go     server    the server, as found before the run; ask.go sends the requests
//	run.go        session   resources of the runs on this machine; Run executes all steps
//	generate.go   measured  reports of generator processes, observed by load/observe
//	document.go   Document  completed and judged, printed and saved; the exit code
//
// In addition: find.go repeats the run for --find, bus.go has both ends of a run with workers
// on other machines, including the verb worker, and kubernetes.go writes manifests and starts
// pods.
package command
