// Package control lets a service report its Go runtime on a Unix socket, which redline load
// --control queries at every tick. docs/control.md describes the protocol. The package
// needs only the standard library and works with any server.
//
//	socket, err := control.Listen("/run/shop.sock", control.Options{Name: "shop"})
//	if err != nil { ... }
//	defer socket.Close()
//
// A snapshot allocates nothing, stops nothing and takes a few microseconds. Profiles are
// offered if [Options.Profile] is set. Its implementation is a separate package,
// control/profiles, because linking it makes the runtime sample the program's allocations.
package control
