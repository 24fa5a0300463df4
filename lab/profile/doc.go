// Package profile takes profiles of a Go server under load, and reads them.
//
//	Source: a control socket, or net/http/pprof
//	   │ bytes in the format of pprof
//	   ▼
//	Take ── Parse ──▶ Taken, whole or with the reason why not ──▶ Save, Top
//
// The format is read by github.com/google/pprof/profile (docs/adr/0013-server-view.md).
package profile
