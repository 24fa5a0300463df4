package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreign are flags of other tools, and those that do the same here.
var foreign = map[string]string{
	"concurrency": "connections", "vus": "connections", "clients": "connections", "users": "connections", "threads": "workers",
	"rps": "rate", "qps": "rate", "time": "duration", "headers": "header", "data": "body", "request": "method",
	"output": "out json", "no-color": "color", "cacert": "ca",
}

// NoVerb returns the error of a command line whose verb does not exist, nil if it has one or
// none.
func NoVerb(root *cobra.Command, args []string) error {
	found, rest, err := root.Find(args)
	switch {
	case err != nil:
		return Misuse(err)
	case found.Name() == "help" && found.Parent() == root && len(rest) > 0:
		return NoVerb(root, rest)
	case found != root:
		return nil
	}
	for len(rest) > 0 && strings.HasPrefix(rest[0], "--"+colorFlag) {
		_, _, whole := strings.Cut(rest[0], "=")
		rest = rest[1:]
		if !whole && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	// A flag is refused when it is read; shells complete with verbs that begin with two underscores.
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "__") {
		return nil
	}
	return unknown(root, rest[0])
}

// unknown is the error of a verb that does not exist. It names the one that was probably
// meant.
func unknown(root *cobra.Command, verb string) error {
	if verb == "version" {
		return Usage("unknown command %q; write redline --version", verb)
	}
	var names []string
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		if slices.Contains(c.SuggestFor, strings.ToLower(verb)) {
			return Usage("unknown command %q; did you mean %s? See redline --help", verb, c.Name())
		}
		names = append(names, c.Name())
	}
	if name := Nearest(strings.ToLower(verb), names); name != "" {
		return Usage("unknown command %q; did you mean %s? See redline --help", verb, name)
	}
	return Usage("unknown command %q; see redline --help", verb)
}

// meant returns the flag that was probably meant by an unknown one; empty if none is like it.
func meant(c *cobra.Command, name string) string {
	for _, here := range strings.Fields(foreign[name]) {
		if c.Flags().Lookup(here) != nil {
			return here
		}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return Nearest(name, names)
}

// Nearest returns the word of a list that is most like another: the one with the fewest
// edits, at most one for every three letters. Empty if there is none.
func Nearest(word string, list []string) (found string) {
	best := max(utf8.RuneCountInString(word)/3, 1) + 1
	for _, w := range list {
		if n := edits(word, w); n < best {
			found, best = w, n
		}
	}
	return found
}

// edits returns how many letters have to be inserted, deleted, replaced or swapped with their
// neighbour to make one word another (the optimal string alignment distance).
func edits(from, to string) int {
	a, b := []rune(from), []rune(to)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			n := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, rows[i-2][j-2]+1)
			}
			rows[i][j] = n
		}
	}
	return rows[len(a)][len(b)]
}
