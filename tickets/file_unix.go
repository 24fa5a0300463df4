//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tickets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openOwn opens a file that belongs to this process's user and that nobody else can read
// or write. What is checked is what is open, not the name.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) {
		return nil, fmt.Errorf("%s is a symbolic link: name the file itself, because it is replaced when keys change", path)
	}
	if err != nil {
		return nil, err
	}
	if err := own(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func own(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.Name())
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner", f.Name())
	}
	if owner, user := int(stat.Uid), os.Geteuid(); owner != user {
		return fmt.Errorf("%s belongs to user %d: it has to belong to user %d, who runs this process", f.Name(), owner, user)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has mode %#o, so that others have access to the keys: remove it, and new keys are made; or set mode 0600 if nobody has read it", f.Name(), mode)
	}
	return nil
}

// lock takes the lock of a fleet, or returns errBusy. The lock's file stays: if it were
// removed, two processes could hold locks on different files of the same name. The kernel
// releases the lock of a process that ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := own(f); err != nil {
		f.Close()
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errBusy
		}
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { f.Close() }, nil
}
