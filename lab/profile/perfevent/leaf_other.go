//go:build !amd64

package perfevent

// leafRegisters are not known on this machine.
const leafRegisters = 0
