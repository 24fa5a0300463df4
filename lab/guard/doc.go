// Package guard lets nothing outlive a command: no server that it started, no
// temporary directory, no changed setting of the machine.
//
// A command that is killed cannot tidy up, so another process does it. [Start]
// starts the command's own executable with the verb [Verb], in a session of its
// own, with a pipe on its standard input. What has to be undone is written to
// the pipe before it is done, a JSON line each:
//
//	command                               guard
//	Restore("/proc/sys/...", "bbr")  -->  remembers it
//	writes the setting
//	...
//	release()                        -->  forgets it
//	Close(), or its end by whatever  -->  end of input: undoes the rest,
//	means: the kernel closes the pipe     the newest first, and exits
//
// The kernel keeps what was written to a pipe when the writer dies, so that a
// line counts from the moment it is written; no answer is needed.
package guard
