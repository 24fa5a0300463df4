// Package backend contains the clients for the backends that subjects query before they
// answer: Redis, and a process that answers after a while. Every subject uses the same
// code, so that subjects differ only in the server that waits.
package backend
