package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/report/screen"
)

// Group is a group of a subcommand's flags: a heading, and the names of the flags
// separated by spaces.
type Group struct{ Title, Flags string }

// Help returns a help function for a [cobra.Command], which writes in the columns of the
// screen. Flags are in groups; one that no group names is in the last. Without groups they
// are all together.
func Help(groups []Group) func(*cobra.Command, []string) {
	return func(c *cobra.Command, _ []string) {
		s := ScreenOf(c, c.OutOrStdout())
		if _, err := io.WriteString(c.OutOrStdout(), help(c, s, groups)); err != nil {
			c.PrintErrln("write the help:", err)
		}
	}
}

func help(c *cobra.Command, s screen.Screen, groups []Group) string {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	for p := range strings.SplitSeq(strings.TrimSpace(about), "\n\n") {
		b.WriteString(reflow(s, p) + "\n")
	}
	title := func(text string) { b.WriteString(s.Paint(screen.Bold, text) + "\n") }
	title("Usage:")
	b.WriteString(s.Paragraph("  ", "    ", c.UseLine()))
	if c.HasExample() {
		b.WriteString("\n")
		title("Examples:")
		for line := range strings.Lines(c.Example) {
			b.WriteString(example(s, strings.TrimSpace(line)))
		}
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n")
		title("Commands:")
		for _, verb := range c.Commands() {
			if verb.IsAvailableCommand() || verb.Name() == "help" {
				name := fmt.Sprintf("  %-*s ", verb.NamePadding(), verb.Name())
				b.WriteString(s.Paragraph(name, strings.Repeat(" ", len(name)), verb.Short))
			}
		}
	}
	c.InheritedFlags() // which c.Flags has from then on
	if groups == nil {
		groups = []Group{{Title: "Flags"}}
	}
	for _, set := range grouped(groups, c.Flags()) {
		if set.HasAvailableFlags() {
			b.WriteString("\n")
			title(set.Name() + ":")
			for line := range strings.Lines(set.FlagUsagesWrapped(s.Columns())) {
				if text := strings.TrimLeft(line, " "); screen.Width(line) > s.Columns() { // a word that is too long
					indent := strings.Repeat(" ", len(line)-len(text))
					line = s.Paragraph(indent, indent, strings.TrimSpace(text))
				}
				b.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
		}
	}
	return b.String()
}

// reflow wraps a paragraph if one of its lines is too long for the screen. It ends with a
// line feed.
func reflow(s screen.Screen, paragraph string) string {
	for line := range strings.Lines(paragraph) {
		if screen.Width(strings.TrimSuffix(line, "\n")) > s.Columns() {
			return s.Paragraph("", "", strings.ReplaceAll(paragraph, "\n", " "))
		}
	}
	return paragraph + "\n"
}

// argument is one of a command, which may have blanks in quotes.
var argument = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// example is a command, broken as a shell has it if it is too long for the screen.
func example(s screen.Screen, command string) string {
	const indent, end = "  ", " \\"
	if s.Width == 0 || screen.Width(command)+len(indent) <= s.Columns() {
		return indent + command + "\n"
	}
	var b strings.Builder
	line := indent
	for i, word := range argument.FindAllString(command, -1) {
		if i > 0 && screen.Width(line)+1+screen.Width(word)+len(end) > s.Columns() {
			b.WriteString(line + end + "\n")
			line = indent + indent
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// grouped returns the flags of each group.
func grouped(groups []Group, f *pflag.FlagSet) []*pflag.FlagSet {
	sets := make([]*pflag.FlagSet, len(groups))
	of := map[string]int{}
	for i, g := range groups {
		sets[i] = pflag.NewFlagSet(g.Title, pflag.ContinueOnError)
		sets[i].SortFlags = false
		for _, name := range strings.Fields(g.Flags) {
			of[name] = i
			if known := f.Lookup(name); known != nil {
				sets[i].AddFlag(known)
			}
		}
	}
	f.VisitAll(func(one *pflag.Flag) {
		if _, ok := of[one.Name]; !ok {
			sets[len(sets)-1].AddFlag(one)
		}
	})
	return sets
}
