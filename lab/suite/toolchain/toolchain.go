package toolchain

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
)

const (
	listTimeout  = time.Minute
	fetchTimeout = 10 * time.Minute // a toolchain has about 70 MB
	buildTimeout = 10 * time.Minute
	killTimeout  = 5 * time.Second // for pipes to close after the command was killed
	maxOutput    = 4 << 20         // bytes of a list or of the environment
	keptOutput   = 16 << 10        // bytes of the end of what a build prints
)

// A Toolchain is a version of Go that can build.
type Toolchain struct {
	Asked   string // as the user wrote it: "1.25"
	Name    string // value of GOTOOLCHAIN: "go1.25.3" or "local"
	Version string // as it calls itself: "go1.25.3"
	Flags   string // GOFLAGS in force
}

// Short is the version in names of subjects: "1.25.3". An unreleased version is "local".
func (t Toolchain) Short() string {
	short, _, _ := strings.Cut(strings.TrimPrefix(t.Version, "go"), " ")
	if !version.MatchString(short) {
		return Local
	}
	return short
}

// Resolve chooses a toolchain for each version and downloads what is missing. Two versions that
// are the same toolchain are an error. It is bounded in time, and ends when ctx does.
func Resolve(ctx context.Context, asked []string) ([]Toolchain, error) {
	var all []string
	list := func() (_ []string, err error) {
		if all == nil {
			all, err = published(ctx)
		}
		return all, err
	}
	var found []Toolchain
	for _, a := range asked {
		name, err := Choose(a, runtime.GOOS, runtime.GOARCH, list)
		if err != nil {
			return nil, err
		}
		t, err := fetch(ctx, a, name)
		if err != nil {
			return nil, err
		}
		for _, other := range found {
			if other.Short() == t.Short() {
				return nil, fmt.Errorf("--go %s and %s are both %s: leave one out", other.Asked, a, t.Version)
			}
		}
		found = append(found, t)
	}
	return found, nil
}

// published returns the versions of module golang.org/toolchain, of all platforms.
func published(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	// Without -retracted the command would also fetch go.mod of the newest one.
	out, err := ask(ctx, Local, "list", "-m", "-retracted", "-versions", "golang.org/toolchain")
	if err != nil {
		return nil, fmt.Errorf("list the toolchains: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// fetch downloads a toolchain if it is missing, and asks it for its version and flags.
func fetch(ctx context.Context, asked, name string) (Toolchain, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	out, err := ask(ctx, name, "env", "-json", "GOVERSION", "GOFLAGS")
	if err != nil {
		return Toolchain{}, fmt.Errorf("get toolchain %s, which has to exist and to be in the module cache or at GOPROXY: %w", name, err)
	}
	var env struct{ GOVERSION, GOFLAGS string }
	if err := json.Unmarshal(out, &env); err != nil {
		return Toolchain{}, fmt.Errorf("get toolchain %s: read its environment: %w", name, err)
	}
	if name != Local && env.GOVERSION != name && !strings.HasPrefix(env.GOVERSION, name+" ") {
		return Toolchain{}, fmt.Errorf("get toolchain %s: the command go used %s: update Go to 1.21 or newer", name, env.GOVERSION)
	}
	return Toolchain{Asked: asked, Name: name, Version: env.GOVERSION, Flags: env.GOFLAGS}, nil
}

// ask runs the command go of a toolchain outside of any module and returns its output.
func ask(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := command(ctx, "go", args...)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+name, "GOWORK=off", "GO111MODULE=on")
	out, stderr := &tail.Tail{Limit: maxOutput}, &tail.Tail{Limit: keptOutput}
	cmd.Stdout, cmd.Stderr = out, stderr
	if err := run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, strings.TrimSpace(stderr.String()))
	}
	return []byte(out.String()), nil
}

// command returns a command in a process group of its own, which ends with ctx: the command go
// starts compilers.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killTimeout
	return cmd
}

// run runs a command. The error names the end of ctx, if that was the reason.
func run(ctx context.Context, cmd *exec.Cmd) error {
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// A TooOldError reports that sources demand a newer Go than the toolchain.
type TooOldError struct {
	Toolchain string // "go1.24.13"
	File      string // that demands more: "go.mod", "go.work", or a module with its version
	Demands   string // "1.26.0"
}

func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s is too old: %s demands Go %s, which is not lowered for the comparison; leave this version out of --go",
		e.Toolchain, e.File, e.Demands)
}

var tooOld = regexp.MustCompile(`(\S+) requires go >= (\S+)`)

// Build runs a command that builds a Go program in dir, with this toolchain and for at most ten
// minutes, and checks that the program bin was built by it. The command may be go, or start it.
// The command's cache of builds is the user's. The error is a *[TooOldError] if the sources
// demand a newer Go.
func (t Toolchain) Build(ctx context.Context, dir, bin string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	cmd := command(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = t.Environ()
	out := &tail.Tail{Limit: keptOutput}
	cmd.Stdout, cmd.Stderr = out, out
	if err := run(ctx, cmd); err != nil {
		if m := tooOld.FindStringSubmatch(out.String()); m != nil {
			return &TooOldError{Toolchain: t.Version, File: m[1], Demands: m[2]}
		}
		return fmt.Errorf("with %s: %w\n%s", t.Version, err, out)
	}
	info, err := buildinfo.ReadFile(bin)
	if err != nil {
		return fmt.Errorf("with %s: the result is not a Go program: %w", t.Version, err)
	}
	if by, _, _ := strings.Cut(info.GoVersion, " "); by != t.Name && t.Name != Local {
		return fmt.Errorf("with %s: the result was built by %s: the build must not set GOTOOLCHAIN", t.Version, info.GoVersion)
	}
	return nil
}

// Environ returns the environment of this process, with the toolchain chosen.
func (t Toolchain) Environ() []string { return append(os.Environ(), "GOTOOLCHAIN="+t.Name) }

// IsTooOld reports whether err says that a toolchain is too old for the sources.
func IsTooOld(err error) bool {
	var e *TooOldError
	return errors.As(err, &e)
}
