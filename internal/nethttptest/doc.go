// Package nethttptest compares Redline with net/http. Its tests send scripts of raw bytes
// to an http.Server and to a redline.Server with the same http.Handler, on every transport,
// and compare what the clients receive and what the handlers see.
//
// A trial is one script with its handler. Its results are recorded as an outcome: lines of
// text that are compared one by one.
//
//	answer 1: HTTP/1.1 200 OK            status line, as received
//	answer 1: Content-Type: text/plain   fields, sorted; dates of now are "now"
//	answer 1: body "hello"               decoded; trailers follow it
//	fate: open                           or closed, cut, stuck
//	seen: Method GET                     what the handler saw, in its order
//	log: http: panic serving CLIENT: x   what the server logged
//	state: new active closed             the connection's states
//
// The tests never wait to find out whether a connection is kept open: after its script the
// client sends one more request and checks whether it is answered.
//
// For a deliberate difference, either a rule of the suite describes it (rules_test.go), or
// the trial names its reason and contains the exact lines in which the outcomes differ.
// Both are written to docs/nethttp-differences.md:
//
//	go test ./internal/nethttptest -run TestDeliberateDifferences -update
package nethttptest
