// Package backend contains the clients for the backends that subjects query before they
// answer: Redis, PostgreSQL, a process that answers after a while, and an HTTP service that does so. Every subject uses the same
// code, so that subjects differ only in the server that waits.
package backend
