//go:build !unix

package advice

import "os/exec"

// ownGroup does nothing: only Unix has process groups.
func ownGroup(*exec.Cmd) {}
