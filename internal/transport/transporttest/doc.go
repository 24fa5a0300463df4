// Package transporttest holds what every transport must pass: [Run] is the
// conformance suite of the contract in package transport. [Fake] is a transport
// for one session in memory, which does to the session, from a seed, whatever a
// network may do.
package transporttest
