// Package backend is the process that the services of some workloads query. It answers
// each question after the delay that the question holds, accurate to some microseconds.
// A handler that sleeps is less accurate: the timers of a mostly idle Go runtime are up
// to a millisecond late.
//
// A question is eight bytes, little-endian: the nanoseconds to wait. The answer is the
// same eight bytes. A connection carries one question at a time.
//
// In HTTP/1.1 a question is GET /part?n=2&wait=1ms. The answer is the second of [Parts],
// sent after a millisecond.
package backend

// Parts are the bodies of GET /part?n=1, 2 and 3. Joined, they are "Hello, World!".
var Parts = [...]string{"Hello, ", "World", "!"}
