// Package backend is the process that services of the workloads wait for: it answers
// each question after the time that the question names, to some microseconds, which a
// sleeping handler would not: the timers of a Go runtime that has little to do are up
// to a millisecond late.
//
// A question is eight bytes, little-endian: the nanoseconds to wait. The answer is the
// same eight bytes. A connection carries one question at a time.
package backend
