// Package serverview reads the Go runtime of a server under load, from its
// control socket ([OpenSocket], docs/control.md) or from net/http/pprof
// ([OpenPProf]), on the time axis of the load.
//
//	tick ──▶ Follower.Ask ──▶ Source.Snapshot, on a goroutine of its own
//	  ▲           │                 late or failed: the tick goes on without
//	  └── Reading ◀┘
//	         │
//	         ▼
//	      Record: points of the series, and the window's present.Runtime
//
// Nothing here waits for a server longer than it is told to: a load does not stop
// because its server does not answer questions about itself.
package serverview
