// Package command is the verbs profile and baseline, from their flags to their exit codes.
//
//	flags.go      Flags      targets, kinds, load; Options, what is shown of a profile
//	capture.go    capture    a process, found or started, with the sources of its profiles
//	outside.go    Outside    profiles of any process, taken from outside; process.go has their sources
//	take.go       taken      one window: profiles, and the load beside them
//	run.go        Run        takes or reads profiles, and shows them
//	output.go                tables, trees, sources, files, pages
//	baseline.go   Baseline   save, compare, list, remove, rules
package command
