// Package cputime reads the CPU time of processes: of a server under load, and of the
// generator itself.
package cputime
