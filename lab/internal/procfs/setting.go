package procfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ReadSetting returns the value of a setting in a file of /proc/sys or /sys: its words
// separated by one space, or the selected one of a list such as "always [madvise] never".
func ReadSetting(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read setting: %w", err)
	}
	words := strings.Fields(string(b))
	for _, w := range words {
		if strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]") {
			return w[1 : len(w)-1], nil
		}
	}
	return strings.Join(words, " "), nil
}

// WriteSetting writes a value to such a file and reads it back. The file must exist. The
// error is a [KeptError] if the kernel accepted a value but did not keep it.
func WriteSetting(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write setting: %w", err)
	}
	// In one write, because the kernel parses each write separately.
	_, err = f.WriteString(value + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write setting: %w", err)
	}
	now, err := ReadSetting(path)
	if err != nil {
		return err
	}
	if now != strings.Join(strings.Fields(value), " ") {
		return &KeptError{Path: path, Wanted: value, Value: now}
	}
	return nil
}

// A KeptError is a setting that has another value after it was written.
type KeptError struct {
	Path   string
	Wanted string
	Value  string // as it is now
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("write setting: %s is %q after writing %q", e.Path, e.Value, e.Wanted)
}
