package zoo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// module is the path of the zoo's packages.
const module = "github.com/redline-go/redline/lab/diagnose/zoo"

// built is the directory of the binaries, one for the whole process: sick, twin and backends,
// with a binary for each directory of the source.
var built struct {
	sync.Mutex
	dir  string // empty: nothing is built
	bare bool   // without DWARF: linked in half the time
	kept bool   // Clean leaves the directory
}

// Keep makes [Build] build into a directory, unless it is there already, and [Clean] leave it: for
// commands that run again and again with the same sources.
func Keep(ctx context.Context, dir string) error {
	built.Lock()
	defer built.Unlock()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("build the zoo: %w", err)
	}
	built.kept = true
	if _, err := os.Stat(dir); err == nil {
		built.dir = dir
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("build the zoo: %w", err)
	}
	if err := compile(ctx, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	built.dir = dir
	return nil
}

// Build builds the services and their backends, unless this process has done so: all of
// them at once, which takes about half a minute with a warm cache. [Species.Start] calls it. The
// working directory has to be in the workspace. [Clean] removes the binaries.
func Build(ctx context.Context) error {
	_, err := build(ctx)
	return err
}

func build(ctx context.Context) (dir string, err error) {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		return built.dir, nil
	}
	dir, err = os.MkdirTemp("", "redline-zoo-")
	if err != nil {
		return "", fmt.Errorf("build the zoo: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if err := compile(ctx, dir); err != nil {
		return "", err
	}
	built.dir = dir
	return dir, nil
}

// compile builds both variants and the backends into a directory.
func compile(ctx context.Context, dir string) error {
	for _, b := range []struct{ to, tags, packages string }{
		{"sick", "", "species/..."},
		{"twin", "twin", "species/..."},
		{"backends", "", "backends/..."},
	} {
		to := filepath.Join(dir, b.to)
		if err := os.Mkdir(to, 0o700); err != nil {
			return fmt.Errorf("build the zoo: %w", err)
		}
		args := []string{"build", "-tags", b.tags, "-o", to, module + "/" + b.packages}
		if built.bare {
			args = slices.Insert(args, 1, "-ldflags=-w")
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build the zoo: %v: %w\n%s", cmd.Args, err, out)
		}
	}
	return nil
}

// Clean removes the binaries. Servers have to be stopped before.
func Clean() error {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		return nil
	}
	dir := built.dir
	if built.dir = ""; built.kept {
		return nil
	}
	return os.RemoveAll(dir)
}
