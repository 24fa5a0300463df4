// Package backend is what services of subjects ask before they answer: Redis, and a
// process that answers after a while. Every subject asks them by the same code, so that
// what differs between subjects is the server that waits.
package backend
