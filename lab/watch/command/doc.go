// Package command is the verb watch: it finds or starts the process, connects samplers and
// outputs, and decides on the exit code.
package command
