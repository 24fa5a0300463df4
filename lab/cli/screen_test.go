package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/report/screen"
)

func TestTerminal(t *testing.T) {
	for _, c := range []struct {
		width int
		env   string
		want  screen.Screen
	}{
		{48, "TERM=xterm", screen.Screen{Width: 48, Color: true, Rewrites: true}},
		{48, "TERM=xterm NO_COLOR=1 COLUMNS=99", screen.Screen{Width: 48, Rewrites: true}},
		{48, "TERM=xterm NO_COLOR=", screen.Screen{Width: 48, Color: true, Rewrites: true}},
		{48, "TERM=dumb", screen.Screen{Width: 48}},
		{48, "", screen.Screen{Width: 48}},
		{0, "TERM=xterm COLUMNS=99", screen.Screen{Width: 99, Color: true, Rewrites: true}},
		{0, "TERM=xterm COLUMNS=wide", screen.Screen{Width: 80, Color: true, Rewrites: true}},
		{0, "TERM=xterm COLUMNS=-5", screen.Screen{Width: 80, Color: true, Rewrites: true}},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		if got := terminal(c.width, func(name string) string { return env[name] }); got != c.want {
			t.Errorf("width %d, %s: %+v, want %+v", c.width, c.env, got, c.want)
		}
	}
}

// What is no terminal is plain, unless colours are asked for.
func TestScreenOfAFile(t *testing.T) {
	for args, want := range map[string]screen.Screen{
		"":               {},
		"--color always": {Color: true},
		"--color=never":  {},
		"--color auto":   {},
	} {
		var got screen.Screen
		c := &cobra.Command{Use: "redline", Run: func(c *cobra.Command, _ []string) { got = ScreenOf(c, new(bytes.Buffer)) }}
		BindColor(c.PersistentFlags())
		c.SetArgs(strings.Fields(args))
		if err := c.Execute(); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

// verbs is a command with some verbs and flags.
func verbs() *cobra.Command {
	root := &cobra.Command{Use: "redline", Args: cobra.ArbitraryArgs, Run: func(*cobra.Command, []string) {}, SilenceErrors: true, SilenceUsage: true}
	BindColor(root.PersistentFlags())
	root.SetFlagErrorFunc(FlagError)
	load := &cobra.Command{Use: "load", SuggestFor: []string{"attack", "run"}, Short: "Load a server", Run: root.Run}
	load.Flags().Duration("duration", 0, "measured time of the run, which is told in words that do not fit a narrow line")
	load.Flags().Int("connections", 1, "open connections")
	load.Flags().StringSlice("subjects", []string{strings.Repeat("name,", 20)}, "what to compare")
	root.AddCommand(load, &cobra.Command{Use: "plot", Run: root.Run}, &cobra.Command{Use: "guard", Hidden: true, Run: root.Run})
	root.InitDefaultHelpCmd()
	return root
}

func TestSuggestions(t *testing.T) {
	for args, want := range map[string]string{
		"load":                  "",
		"":                      "",
		"laod":                  `unknown command "laod"; did you mean load? See redline --help`,
		"laod --duration 5s":    `unknown command "laod"; did you mean load? See redline --help`,
		"--color never laod":    `unknown command "laod"; did you mean load? See redline --help`,
		"--color=never LOAD":    `unknown command "LOAD"; did you mean load? See redline --help`,
		"run script.js":         `unknown command "run"; did you mean load? See redline --help`,
		"help lod":              `unknown command "lod"; did you mean load? See redline --help`,
		"help load":             "",
		"plto":                  `unknown command "plto"; did you mean plot? See redline --help`,
		"gard":                  `unknown command "gard"; see redline --help`,
		"nonsense":              `unknown command "nonsense"; see redline --help`,
		"version":               `unknown command "version"; write redline --version`,
		"--nonsense load":       "unknown flag: --nonsense; see redline --help",
		"load --durration 5s":   "unknown flag: --durration; did you mean --duration? See redline load --help",
		"load --concurrency=5":  "unknown flag: --concurrency; did you mean --connections? See redline load --help",
		"load --output x":       "unknown flag: --output; see redline load --help", // there is neither --out nor --json
		"load --colour never":   "unknown flag: --colour; did you mean --color? See redline load --help",
		"load --color sometime": "--color sometime: write auto, always or never; see redline load --help",
	} {
		root := verbs()
		root.SetOut(new(bytes.Buffer))
		list := strings.Fields(args)
		root.SetArgs(list)
		err := NoVerb(root, list)
		if err == nil {
			err = root.Execute()
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("redline %s: %q, want %q", args, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"load", "load", 0}, {"laod", "load", 1}, {"lod", "load", 1}, {"durration", "duration", 1}, {"rate", "rät", 2}, {"ca", "abc", 3}} {
		if n := edits(c.a, c.b); n != c.want || n != edits(c.b, c.a) {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, n, c.want)
		}
	}
}

// The help fits its screen, and its examples are still commands.
func TestHelp(t *testing.T) {
	load, _, err := verbs().Find([]string{"load"})
	if err != nil {
		t.Fatal(err)
	}
	load.Long = "Load a server, and say\nwhether it can be believed, in lines that are broken at another width.\n\nSecond."
	load.Example = "  redline load http://127.0.0.1:8080/\n  redline load --duration 30s --connections 100 http://127.0.0.1:8080/"
	for _, width := range []int{48, 80, 140} {
		text := help(load, screen.Screen{Width: width, Color: true}, nil)
		for l := range strings.Lines(text) {
			if n := screen.Width(strings.TrimSuffix(l, "\n")); n > min(width, screen.Usual) {
				t.Errorf("%d columns of %d: %q", n, width, l)
			}
		}
		for _, want := range []string{"--color when", "--duration", "30s --connections 100", "\nSecond.\n"} {
			if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " "), strings.TrimSpace(want)) {
				t.Errorf("width %d: it lacks %q:\n%s", width, want, text)
			}
		}
	}
}
