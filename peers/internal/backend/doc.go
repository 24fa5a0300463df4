// Package backend is what services of subjects ask before they answer: Redis, PostgreSQL, a
// process that answers after a while, and one that does so in HTTP. Every subject asks them by the same code, so that
// what differs between subjects is the server that waits.
package backend
