package gomem

import (
	"flag"
	"maps"
	"testing"
)

var toolchains = flag.Bool("toolchains", false, "download other toolchains, and read what they build in more ways")

// more are builds that take long, or need a C compiler.
var more = []struct {
	name string
	args []string
	env  []string
}{
	{name: "external", args: []string{"-ldflags=-linkmode=external"}},
	{name: "external without DWARF", args: []string{"-ldflags=-linkmode=external -w"}},
	{name: "stripped external", args: []string{"-ldflags=-linkmode=external -s"}},
	{name: "stripped external PIE", args: []string{"-buildmode=pie", "-ldflags=-linkmode=external -s"}},
	{name: "race", args: []string{"-race"}},
	{name: "stripped race", args: []string{"-race", "-ldflags=-s"}},
	{name: "stripped v3", args: []string{"-ldflags=-s"}, env: []string{"GOAMD64=v3"}},
	{name: "stripped, trimmed, static", args: []string{"-ldflags=-s -w", "-trimpath"}, env: []string{"CGO_ENABLED=0"}},
	{name: "without optimisation", args: []string{"-gcflags=all=-N -l"}},
}

// Programs of every version in the table, in every build.
func TestToolchains(t *testing.T) {
	everyToolchain(t, func(t *testing.T, toolchain string, args, env []string) {
		x := start(t, build(t, "target", args, env))
		own := x.own()
		own["threads tolerance"] = 1 // the runtime keeps one for C that has no thread yet
		p := x.open()
		if p.Info().Version != toolchain {
			t.Fatalf("built by %s", p.Info().Version)
		}
		compare(t, p, own)
		if m := p.Missing(); len(m) > 0 {
			t.Errorf("missing: %v", m)
		}
	})
}

// The same for stacks and for what the runtime records by itself.
func TestToolchainStacks(t *testing.T) {
	everyToolchain(t, func(t *testing.T, toolchain string, args, env []string) {
		x := start(t, build(t, "blocked", args, env), "GOGC=off")
		x.own("start")
		p := x.open()
		want := maps.Clone(blocked)
		minor, _, _ := parse(toolchain)
		if minor < 24 {
			delete(want, "main.waitGroup sync.WaitGroup.Wait")
			want["main.waitGroup semacquire"] = 2
		}
		if minor < 23 {
			want = withoutTimers(want)
		}
		checkBlocked(t, p, want)
		checkSites(t, x, p)
	})
}

func everyToolchain(t *testing.T, f func(t *testing.T, toolchain string, args, env []string)) {
	if !*toolchains {
		t.Skip("downloads toolchains: make gomem")
	}
	for _, pair := range tested {
		for _, toolchain := range pair {
			for _, b := range append(builds[:len(builds):len(builds)], more...) {
				t.Run(toolchain+"/"+b.name, func(t *testing.T) {
					f(t, toolchain, b.args, append(b.env[:len(b.env):len(b.env)], "GOTOOLCHAIN="+toolchain))
				})
			}
		}
	}
}
