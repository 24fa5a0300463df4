package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckOutput returns a [UsageError] if the output of a flag cannot be written where it is to
// be, so that a command says so before its work and not after it, and if it would replace one
// of the command's inputs, under whatever name. Devices and pipes may be both. No output, "" or
// "-", is always right.
func CheckOutput(flag, output string, inputs ...string) error {
	if output == "" || output == "-" {
		return nil
	}
	out, err := os.Stat(output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkDir(flag, output)
	case err != nil:
		return Usage("--%s %s: %w", flag, output, err)
	case out.IsDir():
		return Usage("--%s %s is a directory; name a file in it", flag, output)
	case !out.Mode().IsRegular():
		return nil
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return Usage("--%s %s: this is the file that is read, and it would be replaced; name another one", flag, output)
		}
	}
	return nil
}

// checkDir checks the directory of a file that does not exist yet.
func checkDir(flag, output string) error {
	dir := filepath.Dir(output)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Usage("--%s %s: there is no directory %s; create it first", flag, output, dir)
	case err != nil:
		return Usage("--%s %s: %w", flag, output, err)
	case !info.IsDir():
		return Usage("--%s %s: %s is not a directory", flag, output, dir)
	}
	return nil
}
