// Package cli is what the verbs of the command redline share: how they end, and
// where they show something.
package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// An ExitCode ends the command without another word: all has been said.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// A UsageError is the caller's: the command line asks for what cannot be.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Misuse makes a [UsageError] of an error.
func Misuse(err error) error { return UsageError{err} }

// Usage is a [UsageError] with a text.
func Usage(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// NoArgs refuses arguments that a verb does not take.
func NoArgs(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return Misuse(err)
	}
	return nil
}

// Version is the module's version, or the commit of a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
