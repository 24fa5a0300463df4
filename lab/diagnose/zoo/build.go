package zoo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// module is the path of the zoo's packages.
const module = "github.com/redline-go/redline/lab/diagnose/zoo"

// built is the directory of the binaries, one for the whole process: sick, twin and backends,
// with a binary for each directory of the source.
var built struct {
	sync.Mutex
	dir string // empty: nothing is built
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
	for _, b := range []struct{ to, tags, packages string }{
		{"sick", "", "species/..."},
		{"twin", "twin", "species/..."},
		{"backends", "", "backends/..."},
	} {
		to := filepath.Join(dir, b.to)
		if err := os.Mkdir(to, 0o700); err != nil {
			return "", fmt.Errorf("build the zoo: %w", err)
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-tags", b.tags, "-o", to, module+"/"+b.packages)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the zoo: %v: %w\n%s", cmd.Args, err, out)
		}
	}
	built.dir = dir
	return dir, nil
}

// Clean removes the binaries. Servers have to be stopped before.
func Clean() error {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		return nil
	}
	dir := built.dir
	built.dir = ""
	return os.RemoveAll(dir)
}
