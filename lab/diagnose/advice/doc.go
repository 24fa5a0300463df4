// Package advice joins what the compiler says about escapes with where a server allocates: this
// line, this reason, so many bytes an answer, and what would stop it.
//
//	go build -gcflags=-m=2 ──▶ Escapes ──┐
//	allocation sites ────────────────────┼──▶ Join ──▶ diagnose.Advice, the most bytes first
//	source lines ────────────────────────┘
package advice
