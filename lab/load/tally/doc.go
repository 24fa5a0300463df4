// Package tally does the accounting of a load generator: counters for each tick and for the
// window, the distributions of latencies, and the fate of the arrivals of an open loop. It
// is independent of protocols and reads no clock; its memory does not grow with what it
// counts. It also turns the CPU times of a result into shares and costs.
package tally
