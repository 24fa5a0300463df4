// Package spawn starts the processes of a measurement. They run on their CPUs from the
// first instruction on, have an environment without settings of the Go runtime, and are
// killed by the kernel when the process that started them ends.
package spawn
