// Package guard ensures that nothing outlives a command: no server that it started, no
// temporary directory, no changed setting of the machine.
//
// A killed command cannot clean up, so another process does. [Start] runs the command's own
// executable with the argument [Verb], in its own session, with a pipe as its standard
// input. Each action to undo is written to the pipe before the command takes it, as one
// JSON line:
//
//	command                               guard
//	Restore("/proc/sys/...", "bbr")  -->  remembers it
//	writes the setting
//	...
//	release()                        -->  forgets it
//	Close(), or its end by whatever  -->  end of input: undoes the rest,
//	means: the kernel closes the pipe     the newest first, and exits
//
// The kernel keeps the data in a pipe when the writer dies, so a line is in effect from the
// moment it is written; no reply is needed.
package guard
