package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/report"
)

// Group is a group of a subcommand's flags: a heading, and the names of the flags
// separated by spaces.
type Group struct{ Title, Flags string }

// Grouped returns a usage function for a [cobra.Command] with many flags. It writes
// the flags in groups, in report.Width columns, and returns the errors of the command's
// output. A flag that no group names is in the last one.
func Grouped(groups []Group) func(*cobra.Command) error {
	return func(c *cobra.Command) error {
		var s strings.Builder
		fmt.Fprintf(&s, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		for _, set := range grouped(groups, c.Flags()) {
			if set.HasAvailableFlags() {
				fmt.Fprintf(&s, "\n%s:\n%s", set.Name(), set.FlagUsagesWrapped(report.Width))
			}
		}
		_, err := io.WriteString(c.OutOrStdout(), s.String())
		return err
	}
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
