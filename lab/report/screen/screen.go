// Package screen lays out text for people: in the width and the colours of the
// terminal that shows it, or plain for files and pipes.
package screen

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Usual is the width of text for files and pipes, in columns, and the most that prose
// takes on a terminal.
const Usual = 100

// narrowest is the smallest width that text is laid out for: below it, the terminal wraps.
const narrowest = 20

// Screen is what text is shown on.
type Screen struct {
	Width    int  // columns of the terminal; 0 if there is none
	Color    bool // it shows colours
	Rewrites bool // it is a terminal whose cursor can be moved
}

// Columns returns the width of prose and tables: that of the terminal, at most Usual.
func (s Screen) Columns() int {
	if s.Width <= 0 {
		return Usual
	}
	return min(max(s.Width, narrowest), Usual)
}

// Style is an SGR code (ECMA-48, 8.3.117). The empty one is plain text.
type Style string

// The styles. They can be read on dark and on light backgrounds: no yellow, no blue, and the
// colour of plain text is the terminal's.
const (
	Bold Style = "1"
	Dim  Style = "2"
	Good Style = "32"   // green
	Bad  Style = "31"   // red
	Loud Style = "1;31" // bold red
)

// Paint gives each line of text a style, on a screen with colours.
func (s Screen) Paint(style Style, body string) string {
	if !s.Color || style == "" || body == "" {
		return body
	}
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "\x1b[" + string(style) + "m" + l + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

// Paragraph wraps text in the columns of the screen and ends it with a line feed. Its first
// line begins with first, the others with rest.
func (s Screen) Paragraph(first, rest, body string) string {
	var b strings.Builder
	width := max(s.Columns()-max(Width(first), Width(rest)), narrowest/2)
	for i, l := range strings.Split(text.WrapSoft(body, width), "\n") {
		if i > 0 {
			first = rest
		}
		b.WriteString(strings.TrimRight(first+strings.TrimSpace(l), " ") + "\n")
	}
	return b.String()
}

// Width returns how many columns a line takes; escape sequences take none.
func Width(line string) int { return text.StringWidthWithoutEscSequences(line) }

// Snip cuts a line to a number of columns, and says so with an ellipsis.
func Snip(line string, columns int) string {
	if columns < 1 {
		return ""
	}
	return text.Snip(line, columns, "…")
}
