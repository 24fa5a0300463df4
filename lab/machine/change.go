package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Change is one setting to change: a file of /proc/sys or /sys.
type Change struct {
	Path string `json:"path"`
	From string `json:"from"` // value when it was read
	To   string `json:"to"`
}

// Name is the name of the setting: net.ipv4.tcp_tw_reuse, or its path.
func (c Change) Name() string {
	if _, name, ok := strings.Cut(c.Path, "/proc/sys/"); ok {
		return strings.ReplaceAll(name, "/", ".")
	}
	return c.Path
}

// String describes the change on one line.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Name(), c.From, c.To) }

// change returns the change of a setting; nil if it does not exist or already has the
// value.
func change(fs procfs.FS, to string, parts ...string) []Change {
	path := fs.Path(parts...)
	from, err := procfs.ReadSetting(path)
	if err != nil || from == to {
		return nil
	}
	return []Change{{Path: path, From: from, To: to}}
}

// ChangesVar is the environment variable that tells a command which changes are in effect:
// a JSON array of [Change.String].
const ChangesVar = "REDLINE_CHANGES"

// InForce returns the changes in effect for this process, to be recorded; see [ChangesVar].
func InForce() ([]string, error) {
	value := os.Getenv(ChangesVar)
	if value == "" {
		return nil, nil
	}
	var changes []string
	if err := json.Unmarshal([]byte(value), &changes); err != nil {
		return nil, fmt.Errorf("read %s: %w", ChangesVar, err)
	}
	return changes, nil
}

// Environ returns [ChangesVar] with its value, for the environment of a command that runs
// with the applied changes.
func (a *Applied) Environ() (string, error) {
	texts := make([]string, len(a.Done))
	for i, c := range a.Done {
		texts[i] = c.String()
	}
	b, err := json.Marshal(texts)
	return ChangesVar + "=" + string(b), err
}

// A Keeper receives the old value of a setting before it is changed, and restores it if
// nothing else does. guard.Guard implements it.
type Keeper interface {
	Restore(path, old string) (release func() error, err error)
}

// A ChangeError is a change that could not be made.
type ChangeError struct {
	Change Change
	Reason string // as a message
	Err    error
}

func (e *ChangeError) Error() string { return e.Change.String() + ": " + e.Reason }

// Unwrap returns the cause.
func (e *ChangeError) Unwrap() error { return e.Err }

// Applied are the changes that were made, until Undo.
type Applied struct {
	Done   []Change       // in the order in which they were made, with the old values
	Failed []*ChangeError // the others, with the reasons

	release []func() error
}

// Apply makes the changes. It passes each old value to the keeper first, and reads each
// setting back. A change that cannot be made does not stop the others. The error is the
// keeper's: Apply then makes no more changes, and the caller must undo the ones in Applied.
func Apply(changes []Change, k Keeper) (*Applied, error) {
	a := &Applied{}
	for _, c := range changes {
		now, err := procfs.ReadSetting(c.Path)
		if err != nil {
			a.fail(c, err)
			continue
		}
		c.From = now
		release, err := k.Restore(c.Path, c.From)
		if err != nil {
			return a, fmt.Errorf("change %s: %w", c.Name(), err)
		}
		err = procfs.WriteSetting(c.Path, c.To)
		if err == nil {
			a.Done, a.release = append(a.Done, c), append(a.release, release)
			continue
		}
		a.fail(c, err)
		var kept *procfs.KeptError
		if errors.As(err, &kept) && kept.Value != c.From {
			// Neither the old value nor the new one: this is a change as well.
			err = procfs.WriteSetting(c.Path, c.From)
		} else {
			err = nil
		}
		if err == nil {
			err = release() // otherwise the keeper tries again
		}
		if err != nil {
			return a, fmt.Errorf("revert %s: %w", c.Name(), err)
		}
	}
	return a, nil
}

func (a *Applied) fail(c Change, err error) {
	a.Failed = append(a.Failed, &ChangeError{Change: c, Reason: reason(c, err), Err: err})
}

// reason returns a message why a setting could not be written.
func reason(c Change, err error) string {
	var kept *procfs.KeptError
	switch {
	case errors.As(err, &kept):
		return "the kernel changed it to " + kept.Value
	case errors.Is(err, syscall.EROFS):
		return "it is mounted read-only, as in most containers; change it on the host"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "it needs root"
	case errors.Is(err, syscall.ENOENT) && filepath.Base(c.Path) == "tcp_congestion_control":
		return "this kernel has no " + c.To + "; modprobe tcp_" + c.To
	case errors.Is(err, syscall.ENOENT):
		return "this kernel does not have it"
	case errors.Is(err, syscall.EINVAL):
		return "the kernel refuses the value " + c.To
	}
	return err.Error()
}

// Undo restores the old values, the last change first. Changes that it cannot undo remain
// with the keeper, and in Done.
func (a *Applied) Undo() error {
	var errs []error
	var left []Change
	var releases []func() error
	for i := len(a.Done) - 1; i >= 0; i-- {
		c := a.Done[i]
		err := procfs.WriteSetting(c.Path, c.From)
		if err == nil {
			err = a.release[i]()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s to %s: %w", c.Name(), c.From, err))
			left, releases = append([]Change{c}, left...), append([]func() error{a.release[i]}, releases...)
		}
	}
	a.Done, a.release = left, releases
	return errors.Join(errs...)
}
