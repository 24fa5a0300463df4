package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/redline-go/redline/lab/report/screen"
)

// When is when output has colours.
type When string

// The values of --color.
const (
	Auto   When = "auto"   // on a terminal, unless NO_COLOR or TERM=dumb says otherwise
	Always When = "always" // in files and pipes, too
	Never  When = "never"
)

const colorFlag = "color"

// BindColor makes the flag --color, which all verbs have.
func BindColor(f *pflag.FlagSet) {
	w := Auto
	f.Var(&w, colorFlag, "colours in the output: auto (on a terminal, unless NO_COLOR is set), always or never")
}

// String implements [pflag.Value].
func (w *When) String() string { return string(*w) }

// Type implements [pflag.Value].
func (w *When) Type() string { return "when" }

// Set implements [pflag.Value].
func (w *When) Set(text string) error {
	switch When(text) {
	case Auto, Always, Never:
		*w = When(text)
		return nil
	}
	return fmt.Errorf("write auto, always or never")
}

// ScreenOf returns what a command that writes to w writes on: its width, and whether it has
// colours.
func ScreenOf(c *cobra.Command, w io.Writer) screen.Screen {
	when := Auto
	if f := c.Flag(colorFlag); f != nil {
		when = When(f.Value.String())
	}
	var s screen.Screen
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			width = 0
		}
		s = terminal(width, os.Getenv)
	}
	switch when {
	case Always:
		s.Color = true
	case Never:
		s.Color = false
	}
	return s
}

// usualTerminal is the width of a terminal that does not tell it.
const usualTerminal = 80

// terminal describes a terminal by its width, 0 if it does not tell it, and the environment.
func terminal(width int, getenv func(string) string) screen.Screen {
	if width <= 0 {
		if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
			width = n
		} else {
			width = usualTerminal
		}
	}
	kind := getenv("TERM")
	able := kind != "" && kind != "dumb"
	return screen.Screen{Width: width, Rewrites: able, Color: able && getenv("NO_COLOR") == ""}
}
