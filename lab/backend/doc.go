// Package backend is the process that services of the workloads wait for: it answers
// each question after the time that the question names, to some microseconds, which a
// sleeping handler would not: the timers of a Go runtime that has little to do are up
// to a millisecond late.
//
// A question is eight bytes, little-endian: the nanoseconds to wait. The answer is the
// same eight bytes. A connection carries one question at a time.
//
// In HTTP/1.1 a question is GET /part?n=2&wait=1ms, and the answer the second of [Parts]
// after a millisecond.
package backend

// Parts are the bodies of GET /part?n=1, 2 and 3: joined they are "Hello, World!".
var Parts = [...]string{"Hello, ", "World", "!"}
