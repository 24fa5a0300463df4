// Package command is the verb load: what its flags ask for becomes a run of a
// generator process, watched together with the server, printed and saved.
//
//	Flags ── resolve ──▶ plan ──▶ loader ──▶ generator process
//	                                │  ▲            │ events
//	                                │  └── watch ◀──┘  and the server's /proc
//	                                ▼
//	                        present.Document: summary, JSON, CSV, HDR, page
package command
