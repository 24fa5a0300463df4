// Package control lets a service answer questions about its Go runtime on a
// unix socket: what redline load --control asks at every tick. The protocol is
// in docs/control.md; the package stands on the standard library alone and works
// with any server.
//
//	socket, err := control.Listen("/run/shop.sock", control.Options{Name: "shop"})
//	if err != nil { ... }
//	defer socket.Close()
//
// A snapshot allocates nothing, stops nothing and takes a few microseconds.
// Profiles are offered when [Options.Profile] is set. Its implementation is a
// package of its own, control/profiles, because a program that links it pays for
// the sampling of its allocations.
package control
