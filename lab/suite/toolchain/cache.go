package toolchain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/file"
)

const (
	mostKept      = 64       // programs in a cache
	mostKeptBytes = 1 << 30  // of all of them
	mostProgram   = 64 << 20 // bytes of a program that is kept
)

// A Cache keeps the programs that go build has linked. The command go does not link a program that is
// at the path of its -o already and that it would build again from the same sources, with the same
// toolchain and flags: it reads the build ID. A comparison builds into a directory of its own, so the
// program of the last one is copied there before.
//
// The cache decides nothing: a program that is stale, or of others, is replaced by the command go. A
// cache that cannot be read or written costs time and is no error. Processes may share one: a program
// is put into it whole, and copied out of it.
type Cache struct {
	dir string // empty: nothing is kept
}

// OpenCache returns the cache in a directory, which is created when a program is kept. The empty
// name keeps nothing.
func OpenCache(dir string) Cache { return Cache{dir} }

// UserCache returns the cache of the user: redline/subjects in [os.UserCacheDir]. Without such a
// directory it keeps nothing.
func UserCache() Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Cache{}
	}
	return Cache{filepath.Join(dir, "redline", "subjects")}
}

// Build calls build, which runs a command in dir that writes the program bin, and keeps the program if the
// command is go build. Commands that differ in an argument (with {bin} for the program's path), in
// dir, in the name of the toolchain or in the environment of the command go have programs of their own.
func (c Cache) Build(bin, dir, toolchain string, args []string, build func() error) error {
	if c.dir == "" || len(args) < 2 || filepath.Base(args[0]) != "go" || args[1] != "build" {
		return build()
	}
	kept := filepath.Join(c.dir, key(dir, toolchain, args))
	before, err := os.ReadFile(kept)
	if err == nil && os.WriteFile(bin, before, 0o755) != nil {
		_ = os.Remove(bin) // a part of a program has its build ID
	}
	err = build()
	if err != nil && before != nil { // perhaps because of what was kept: the command go replaces no file that is not a program
		_, _ = os.Remove(kept), os.Remove(bin)
		before, err = nil, build()
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(bin); err != nil || info.Size() > mostProgram {
		return nil // if it is missing, its start reports that
	}
	if after, err := os.ReadFile(bin); err != nil || bytes.Equal(before, after) {
		now := time.Now()
		_ = os.Chtimes(kept, now, now) // the oldest is removed first
	} else if os.MkdirAll(c.dir, 0o700) == nil {
		_ = file.Write(kept, after)
		c.trim()
	}
	return nil
}

// key returns the name of a program in the cache.
func key(dir, toolchain string, args []string) string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "CGO_") })
	slices.Sort(env)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", dir, toolchain, args, env))
	return hex.EncodeToString(sum[:16])
}

// trim removes the programs that were not used for longest, and what a process left that was
// killed, until the rest is within the limits.
func (c Cache) trim() {
	type program struct {
		path string
		size int64
		used time.Time
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var all []program
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, program{filepath.Join(c.dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b program) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.path, b.path)) })
	sum := int64(0)
	for i, p := range all {
		if sum += p.size; i >= mostKept || sum > mostKeptBytes {
			_ = os.Remove(p.path) // another process may have done so
		}
	}
}
