// Package conformance holds the engine's HTTP/2 against suites that others wrote: h2spec for the
// protocol, and the interoperability tests of gRPC, Connect's conformance suite and that of the
// Model Context Protocol for what runs on it; and against real clients: curl, browsers and
// libraries. The last two use HTTP/1.1 as well. It is a module of its own, outside of the
// workspace, so that nothing that the engine or the lab builds depends on the versions that the
// suites require.
//
//	go test .            a short form: one transport, native handlers in clear, net/http's over TLS
//	go test . -full      every transport, both kinds of handlers, in clear and over TLS
//	go test . -nethttp   the same suites against the server of net/http
//
// make mcp installs what TestMCP needs, and runs it; it has no short form. make clients installs
// the clients and runs the full form of TestClients; the short form is of those that need nothing
// but Go and curl.
//
// A case that fails is listed with a reason, or the test fails. A listed case that passes fails too.
package conformance
