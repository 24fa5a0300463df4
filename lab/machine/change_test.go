package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// keeper records its calls, and the setting at the time of each call.
type keeper struct {
	log     []string
	refuses bool
}

func (k *keeper) Restore(path, old string) (func() error, error) {
	if k.refuses {
		return nil, os.ErrClosed
	}
	now, err := procfs.ReadSetting(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	k.log = append(k.log, fmt.Sprintf("restore %s %s, is %s", name, old, now))
	return func() error {
		k.log = append(k.log, "release "+name)
		return nil
	}, nil
}

func TestApplyAndUndo(t *testing.T) {
	root := build(t, map[string]string{"a": "1\n", "b": "2\n"})
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	k := &keeper{}
	applied, err := Apply([]Change{
		{Path: a, From: "0", To: "10"}, // changed since it was read
		{Path: filepath.Join(root, "none"), From: "1", To: "2"},
		{Path: os.DevNull, From: "", To: "5"}, // accepts all writes, keeps nothing
		{Path: b, From: "2", To: "20"},
	}, k)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Change{{a, "1", "10"}, {b, "2", "20"}}; !slices.Equal(applied.Done, want) {
		t.Errorf("done %v, want %v", applied.Done, want)
	}
	if len(applied.Failed) != 2 || !errors.Is(applied.Failed[0], os.ErrNotExist) || !strings.Contains(applied.Failed[1].Error(), "the kernel changed it to") {
		t.Errorf("failed %v", applied.Failed)
	}
	settings := func() string {
		x, errA := procfs.ReadSetting(a)
		y, errB := procfs.ReadSetting(b)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		return x + " " + y
	}
	if got := settings(); got != "10 20" {
		t.Errorf("settings are %s", got)
	}
	if err := applied.Undo(); err != nil {
		t.Error(err)
	}
	if got := settings(); got != "1 2" || len(applied.Done) > 0 {
		t.Errorf("after Undo settings are %s, %v left", got, applied.Done)
	}
	want := []string{"restore a 1, is 1", "restore null , is ", "release null", "restore b 2, is 2", "release b", "release a"}
	if !slices.Equal(k.log, want) {
		t.Errorf("the keeper received %q, want %q", k.log, want)
	}
}

func TestUndoKeepsWhatItCannotPutBack(t *testing.T) {
	root := build(t, map[string]string{"a": "1\n", "b": "2\n"})
	k := &keeper{}
	applied, err := Apply([]Change{{filepath.Join(root, "a"), "1", "10"}, {filepath.Join(root, "b"), "2", "20"}}, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	if err := applied.Undo(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Undo: %v", err)
	}
	if len(applied.Done) != 1 || applied.Done[0].From != "2" || slices.Contains(k.log, "release b") || !slices.Contains(k.log, "release a") {
		t.Errorf("left %v, the keeper received %q", applied.Done, k.log)
	}
}

func TestNothingChangesWithoutAKeeper(t *testing.T) {
	root := build(t, map[string]string{"a": "1\n"})
	applied, err := Apply([]Change{{filepath.Join(root, "a"), "1", "10"}}, &keeper{refuses: true})
	if !errors.Is(err, os.ErrClosed) || len(applied.Done) > 0 {
		t.Errorf("%v, %v", applied, err)
	}
	if now, err := procfs.ReadSetting(filepath.Join(root, "a")); err != nil || now != "1" {
		t.Errorf("the setting is %q, %v", now, err)
	}
}

func TestReason(t *testing.T) {
	c := Change{Path: "/proc/sys/net/ipv4/tcp_congestion_control", To: "cubic"}
	for err, want := range map[error]string{
		syscall.EROFS: "read-only", syscall.EACCES: "root", syscall.EPERM: "root", syscall.EINVAL: "refuses", syscall.ENOENT: "modprobe tcp_cubic", syscall.EIO: "input/output",
	} {
		if got := reason(c, fmt.Errorf("write setting: %w", &os.PathError{Op: "write", Path: c.Path, Err: err})); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	a := &Applied{Done: []Change{{"/proc/sys/net/core/somaxconn", "128", "65535"}}}
	env, err := a.Environ()
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(env, "=")
	t.Setenv(name, value)
	got, err := InForce()
	if want := []string{"net.core.somaxconn: 128 -> 65535"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	t.Setenv(name, "]")
	if _, err := InForce(); err == nil {
		t.Error("garbage: no error")
	}
	t.Setenv(name, "")
	if got, err := InForce(); err != nil || got != nil {
		t.Errorf("none: %q, %v", got, err)
	}
}
