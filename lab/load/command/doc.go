// Package command is the verb load, from its flags to its exit code. Each step hands a
// value to the next one:
//
//	flags.go      Flags     what was written
//	plan*.go      plan      what it means; nothing changes it afterwards
//	before.go     server    who answers before the run, and how; ask.go speaks with it
//	run.go        session   what the runs need on this machine; Run is all of it in order
//	generate.go   measured  what generator processes report, observed by load/observe
//	document.go   Document  completed and judged, printed and saved; the exit code
//
// Beside the line: find.go repeats the run for --find, bus.go has both ends of a run whose
// workers are on other machines, with the verb worker, and kubernetes.go writes its
// manifests and starts its pods.
package command
