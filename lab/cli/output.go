package cli

import "os"

// CheckOutput returns a [UsageError] if the output of a flag would replace one of the
// command's inputs, under whatever name. Devices and pipes may be both.
func CheckOutput(flag, output string, inputs ...string) error {
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil // it does not exist yet, or writing it will tell
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return Usage("--%s %s: this is the file that is read, and it would be replaced; name another one", flag, output)
		}
	}
	return nil
}
