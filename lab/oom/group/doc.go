// Package group makes control groups that bound the memory of a server, of version 1 and 2, reads
// them, and finds out whom the kernel killed in them: from the kernel's log.
package group
