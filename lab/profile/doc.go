// Package profile takes profiles of a Go server under load, and evaluates them.
//
//	Source: a control socket, or net/http/pprof
//	   │ bytes in the format of pprof
//	   ▼
//	Take ── Parse ──▶ Taken, whole or with the reason why not ──▶ Save, Top
//
// It uses github.com/google/pprof/profile to parse them (docs/adr/0013-server-view.md).
package profile
