// Package observe collects measurements during a run of redline load: the reports of the
// generator, the kernel's counters for the server's processes and for the CPUs of both
// sides, and the state and the profiles of the server's Go runtime.
//
//	spec.Event ──▶ Observer ──▶ present.Document   series, server, runtime, profiles
//	                   ▲   ├──▶ spec.Result        CPU time of other processes
//	/proc, runtime ────┘   └──▶ present.Live
//
// It generates no load, and does not evaluate the results.
package observe
