// Package spawn starts the processes of a measurement: on the CPUs that they are
// meant for from their first instruction on, with an environment that tunes no
// Go runtime, and ended by the kernel when the process that started them ends.
package spawn
