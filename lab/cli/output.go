package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckOutput returns a [UsageError] if the output of a flag cannot be written, because there is no
// such directory, or would replace one of the command's inputs, under whatever name. Devices and
// pipes may be both. It is called before anything is measured; an empty path, or -, is no file.
func CheckOutput(flag, output string, inputs ...string) error {
	if output == "" || output == "-" {
		return nil
	}
	dir := filepath.Dir(output)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Usage("--%s %s: there is no directory %s; create it first", flag, output, dir)
	case err != nil:
		return fmt.Errorf("--%s: %w", flag, err)
	case !info.IsDir():
		return Usage("--%s %s: %s is not a directory", flag, output, dir)
	}
	out, err := os.Stat(output)
	if err == nil && out.IsDir() {
		return Usage("--%s %s is a directory; name a file in it", flag, output)
	}
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
