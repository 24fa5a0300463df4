// Package nethttptest holds Redline to net/http. Its tests play scripts of raw
// bytes to an http.Server and to a redline.Server with the same http.Handler, on
// every transport, and compare what the clients get and what the handlers see.
//
// A trial is one script with its handler. Whatever a trial brings about becomes
// an outcome: lines of text that are compared one by one.
//
//	answer 1: HTTP/1.1 200 OK            status line, as it came
//	answer 1: Content-Type: text/plain   fields, sorted; dates of now are "now"
//	answer 1: body "hello"               decoded; trailers follow it
//	fate: open                           or closed, cut, stuck
//	seen: Method GET                     what the handler saw, in its order
//	log: http: panic serving CLIENT: x   what the server logged
//	state: new active closed             the connection's states
//
// That a connection is kept open is never told by waiting: after its script the
// client sends one more request and sees whether it is answered.
//
// Where Redline differs on purpose, either a rule of the suite knows how (rules_test.go),
// or the trial names its reason and holds the exact lines in which the outcomes differ.
// Both are written to docs/nethttp-differences.md:
//
//	go test ./internal/nethttptest -run TestDeliberateDifferences -update
package nethttptest
