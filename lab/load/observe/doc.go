// Package observe collects measurements during a run of redline load: the reports of the
// generator, the kernel's counters for the server's processes and for the CPUs of both
// sides, and the state and the profiles of the server's Go runtime.
//
//	spec.Event ──▶ Observer ──▶ present.Document   series, server, runtime, profiles
//	                   ▲   ├──▶ spec.Result        CPU time of other processes
//	probe.Window ──────┤   └──▶ present.Live
//	runtime ───────────┘
//
// The runtime is read from the server's control socket ([OpenSocket], docs/control.md) or from
// net/http/pprof ([OpenPProf]), on the time axis of the load:
//
//	tick ──▶ Follower.Ask ──▶ Source.Snapshot, on a goroutine of its own
//	  ▲           │                 late or failed: the tick has no reading
//	  └── Reading ◀┘
//	         │
//	         ▼
//	      Record: points of the series, and the window's present.Runtime
//
// All waiting for a server is limited in time: a load does not stop because its server does
// not answer queries about itself. The package generates no load, and does not evaluate the
// results.
package observe
