// Package command is the verb trace: it gets a trace, reads it, and writes what it says.
//
//	Options ─▶ acquire ─▶ file ─▶ trace.Read ─▶ output, page, JSON
//	            ├ a file
//	            ├ /debug/pprof/trace
//	            └ a control socket
package command
