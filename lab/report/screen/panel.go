package screen

import (
	"fmt"
	"strings"
)

// Panel is a block of lines at the bottom of a terminal that is drawn again and again. Its
// methods return what to write.
type Panel struct {
	Screen Screen
	drawn  int // height on the screen, in lines
}

// Draw replaces the previous lines. Lines that are too long are cut.
func (p *Panel) Draw(lines []string) string {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, text := range lines {
		b.WriteString("\r\x1b[2K" + Snip(text, p.Screen.Width-1) + "\n")
	}
	b.WriteString("\x1b[J")
	p.drawn = len(lines)
	return b.String()
}

// Clear removes the panel.
func (p *Panel) Clear() string {
	if p.drawn == 0 {
		return ""
	}
	text := fmt.Sprintf("\x1b[%dA\r\x1b[J", p.drawn)
	p.drawn = 0
	return text
}
