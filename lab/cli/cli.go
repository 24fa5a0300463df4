// Package cli holds what the subcommands of redline share: exit codes, usage errors,
// help, redaction and the output of pages.
package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/report/screen"
)

// An ExitCode ends the command without a message: everything has been printed.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// A UsageError is an error in the command line.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Misuse wraps an error in a [UsageError].
func Misuse(err error) error { return UsageError{err} }

// Usage returns a [UsageError] with a formatted text.
func Usage(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// NoArgs returns a [UsageError] for a subcommand that has arguments but takes none.
func NoArgs(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return Misuse(err)
	}
	return nil
}

// Version returns the module's version, or the commit of a checkout.
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

// PrintError writes why a command failed to w, which is that screen.
func PrintError(w io.Writer, s screen.Screen, text string) {
	head := s.Paint(screen.Bad, "redline:")
	if s.Width == 0 {
		fmt.Fprintln(w, head, text)
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			line = head + " " + line
		}
		fmt.Fprint(w, s.Paragraph("", "  ", line))
	}
}
