package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/profile/command"
)

// profileCommands returns the commands of docs/profile.md that take, read or compare profiles, in
// their order.
func profileCommands(t *testing.T) (list [][]string) {
	t.Helper()
	for _, line := range shellLines(t, docs+"profile.md") {
		for _, text := range simple(line) {
			if args := words(text); args[0] == "redline" {
				list = append(list, args[1:])
			}
		}
	}
	return list
}

// TestProfileDocsCommands runs each command of the page against the shop, shortened: none is
// refused, and each has an output.
func TestProfileDocsCommands(t *testing.T) {
	once(t)
	list := profileCommands(t)
	server := openShop(t)
	pid := pidOf(t, server.plain)
	files := map[string]string{}
	for _, block := range blocks(t, docs+"profile.md", "yaml") {
		name, text, _ := strings.Cut(block, "\n")
		files[strings.TrimPrefix(name, "# ")] = text
	}
	inExamples(t, files)
	ran := 0
	for _, args := range list {
		for i := range args {
			args[i] = strings.ReplaceAll(server.place(args[i]), "1234", pid)
		}
		if slices.Contains(args, "--") { // TestProfileAlone starts a command
			args = slices.Concat(args[:slices.Index(args, "--")], []string{"--", "sh", "-c", "while :; do :; done"})
			args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "http") || a == "--load" })
		}
		args = shortened(args)
		ran++
		code, out, said := profileOf(t, args...)
		regression := code == command.ExitWorse && strings.Contains(out, "regression") // short windows, too
		if code != 0 && !regression || out == "" {
			if strings.Contains(said, "not allowed") || strings.Contains(said, "tracepoints") {
				t.Logf("%q: the kernel does not allow it: %s", args, said)
				continue
			}
			t.Errorf("%q: exit code %d, %s%s", args, code, out, said)
		}
	}
	if ran < 15 {
		t.Errorf("%d commands", ran)
	}
}

// shortened returns a command with short and few windows, if it measures.
func shortened(args []string) []string {
	if !slices.ContainsFunc(args, func(a string) bool { return a == "--pprof" || a == "--pid" || a == "--" }) {
		return args
	}
	if i := slices.Index(args, "--for"); i >= 0 {
		args = slices.Delete(args, i, i+2)
	}
	verb, more := 1, []string{"--for", "1s"}
	if args[0] == "baseline" {
		verb, more = 3, append(more, "--windows", "3")
	}
	if slices.Contains(args, "--load") {
		more = append(more, "--warmup", "50ms", "-c", "8")
		// A rate leaves most of the CPUs idle. Functions are looked for in before.pprof, and a
		// baseline needs samples in each window: these have all that there are.
		if args[0] == "profile" && !slices.Contains(args, "before.pprof") {
			more = append(more, "--rate", "2000")
		}
	}
	return slices.Concat(args[:verb], more, args[verb:])
}
