// Package serverview reads the state of a server's Go runtime during a load, from the
// server's control socket ([OpenSocket], docs/control.md) or from net/http/pprof
// ([OpenPProf]), on the time axis of the load.
//
//	tick ──▶ Follower.Ask ──▶ Source.Snapshot, on a goroutine of its own
//	  ▲           │                 late or failed: the tick has no reading
//	  └── Reading ◀┘
//	         │
//	         ▼
//	      Record: points of the series, and the window's present.Runtime
//
// All waiting for a server is limited in time: a load does not stop because its server does
// not answer queries about itself.
package serverview
