// Package redline is an HTTP server for Go that runs on event loops of its own.
//
// The engine is not here yet: this module holds the ground it stands on, the
// import rules and size budgets of [github.com/redline-go/redline/internal/archtest].
// What works today is the lab, the command redline in the module
// github.com/redline-go/redline/lab, which compares HTTP servers side by side.
package redline
