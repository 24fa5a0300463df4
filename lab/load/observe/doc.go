// Package observe watches a run of redline load from beside it: what the generator
// reports, what the kernel counts for the server's processes and for the CPUs of both
// sides, and what the server's Go runtime says, with profiles of it.
//
//	spec.Event ──▶ Observer ──▶ present.Document   its series, server, runtime, profiles
//	                   ▲   ├──▶ spec.Result        what others took of the CPUs
//	/proc, runtime ────┘   └──▶ present.Live
//
// It makes no load, and does not judge.
package observe
