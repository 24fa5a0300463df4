package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/rivals"
)

// pages are the pages whose commands are tested, from docs.
var pages = []string{"../README.md", "load.md", "scenario.md", "subjects.md", "percentiles.md", "performance.md", "control.md", "watch.md", "profile.md", "trace.md", "diagnose.md", "oom.md"}

// checkout is the repository.
const checkout = "../../.."

// shellLines returns the lines of a page's shell commands.
func shellLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	for _, block := range blocks(t, page, "sh") {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// separator matches the end of a simple shell command, outside of quotes.
var separator = regexp.MustCompile(`'[^']*'|"[^"]*"|#.*$|[|;&()]+`)

// simple returns the simple commands of a line: without pipes, lists, subshells and comments.
func simple(line string) (list []string) {
	marked := separator.ReplaceAllStringFunc(line, func(s string) string {
		if s[0] == '\'' || s[0] == '"' {
			return s
		}
		return "\x00"
	})
	for command := range strings.SplitSeq(marked, "\x00") {
		if command = strings.TrimSpace(command); command != "" {
			list = append(list, command)
		}
	}
	return list
}

// inline returns the complete commands in a page's text: with flags, and without words in
// capitals, which are placeholders.
func inline(t *testing.T, page string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(redline [^`]* --[^` ]+ [^`]*)`").FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`[A-Z]{3}|\$|…|--workloads help`).MatchString(m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

// Every shell command of the pages is valid: the verb and its flags, the names of subjects and
// workloads, the target of make, the package of go run, the directory of cd.
func TestDocsCommands(t *testing.T) {
	make, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	mine := mineYAML(t)
	n := 0
	for _, page := range pages {
		var all []string
		for _, line := range shellLines(t, docs+page) {
			all = append(all, simple(line)...)
		}
		dir := checkout
		for _, text := range append(all, inline(t, docs+page)...) {
			n++
			args := words(text)
			err := error(nil)
			switch args[0] {
			case "redline":
				err = parses(t, args[1:], mine)
			case "make":
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(args[1]) + `:`).Match(make) {
					err = fmt.Errorf("no target %s in the Makefile", args[1])
				}
			case "cd":
				dir = filepath.Join(dir, args[1])
				_, err = os.Stat(dir)
			case "go":
				err = builds(args, dir)
			case "curl", "echo", "export", "jq", "kill", "sleep":
			default:
				err = fmt.Errorf("%s is unknown", args[0])
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, text, err)
			}
		}
	}
	if n < 80 {
		t.Errorf("%d commands", n)
	}
}

// builds returns the error of a command of go: that the package which it names is not in the checkout.
func builds(args []string, dir string) error {
	const module = "github.com/redline-go/redline"
	for _, a := range args[1:] {
		a, _, _ = strings.Cut(a, "@")
		switch {
		case strings.HasPrefix(a, ".") && !strings.HasPrefix(a, ".bin"):
			_, err := os.Stat(filepath.Join(dir, a, "main.go"))
			return err
		case a == module && args[1] == "get":
			return nil
		case strings.HasPrefix(a, module+"/"):
			_, err := os.Stat(filepath.Join(checkout, a[len(module):], "main.go"))
			return err
		}
	}
	return errors.New("no package")
}

// mineYAML writes the example of subjects.md as the file of a subject mine, and returns its
// path.
func mineYAML(t *testing.T) string {
	t.Helper()
	list := blocks(t, docs+"subjects.md", "yaml")
	if len(list) == 0 {
		t.Fatal("subjects.md has no example")
	}
	text := regexp.MustCompile(`(?m)^name: .*$`).ReplaceAllString(list[0], "name: mine")
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// parses returns the error of a command line, or nil. It does not run it.
func parses(t *testing.T, args []string, mine string) error {
	t.Helper()
	for i, a := range args {
		if a == "mine.yaml" {
			args[i] = mine
		}
	}
	root := newRoot(args)
	if err := cli.NoVerb(root, args); err != nil {
		return err
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c.Name() == "bench" {
		return resolves(t, rest)
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	switch left := c.Flags().Args(); {
	case c.Name() == "env" && len(left) > 0 && left[0] == "redline":
		return parses(t, left[1:], mine)
	case c.Name() == "generators":
		return known(c)
	}
	return nil
}

// resolves is parses for redline bench.
func resolves(t *testing.T, args []string) error {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(checkout)
	defer t.Chdir(here)
	var b benchFlags
	c := b.command()
	if err := c.ParseFlags(args); err != nil {
		return err
	}
	_, err = b.resolve(c)
	return err
}

// known returns an error if redline generators does not know a tool or a workload.
func known(c *cobra.Command) error {
	for flag, list := range map[string][]string{"tools": rivals.Names(), "workloads": rivals.Workloads()} {
		given, err := c.Flags().GetStringSlice(flag)
		if err != nil {
			return err
		}
		for _, name := range given {
			if !slices.Contains(list, name) {
				return fmt.Errorf("--%s: no %s", flag, name)
			}
		}
	}
	return nil
}

// Every command of the pages that reads results accepts the output of the commands before it.
func TestDocsReports(t *testing.T) {
	once(t)
	url, _ := serve(t, hello)
	var list [][]string
	for _, page := range pages {
		for _, line := range shellLines(t, docs+page) {
			for _, text := range simple(line) {
				if args := words(text); len(args) > 1 && args[0] == "redline" && slices.Contains([]string{"report", "compare", "plot", "env"}, args[1]) {
					list = append(list, args[1:])
				}
			}
		}
	}
	if len(list) < 6 {
		t.Errorf("%d commands", len(list))
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"run", "before", "after", "closed", "open"} {
		if code, _, said := loadOf(t, t.Context(), short("--json", name+".json", url)...); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
	}
	if err := os.MkdirAll("results/DATE-TIME", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := results.Save("results/DATE-TIME/"+resultsName, &results.File{}); err != nil {
		t.Fatal(err)
	}
	for _, args := range list {
		code, out, said := outputOf(t, t.Context(), args...)
		changed := args[0] == "compare" && (code == command.ExitBroken || code == command.ExitInvalid)
		if code != 0 && !changed || out == "" && !slices.ContainsFunc(args, func(a string) bool { return a == "--html" || a == "--out" }) {
			t.Errorf("%s: exit code %d, %q, %s", args, code, out, said)
		}
	}
}

// The files in the pages are those of the shop.
func TestDocsFiles(t *testing.T) {
	_, files := commands(t)
	for _, name := range []string{"shop.yaml", "login.yaml"} {
		text, err := os.ReadFile(filepath.Join(checkout, "examples/shop", name))
		if err != nil || string(text) != files[name] {
			t.Errorf("examples/shop/%s differs from the page: %v", name, err)
		}
	}
}
