// Package file writes the files that commands are asked for, and destroys nothing of
// the user's while it does.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	newMode     = 0o644 // of a new file, less the umask
	privateMode = 0o600 // of one that is to replace another, until it is given that one's mode
	maxLinks    = 40    // symbolic links that are followed, as by Linux
	maxBase     = 200   // bytes of the name that a temporary file takes over
)

// Write gives the file at path the content data.
//
// A plain file is replaced in one step: a reader sees the old content or the whole of
// the new one, also after a crash, and an error leaves the old one. Its mode and its
// owner stay, and a symbolic link keeps pointing to it.
//
// A file that cannot be replaced by one like it is written in place: one with several
// names (hard links), with extended attributes (an ACL), with set-ID bits, whose owner
// cannot be kept, that something is mounted on, or in a directory that takes no new
// files.
//
// What is not a regular file is written to, as a shell's redirection does: a device, a
// FIFO, or one of the process's own descriptors (/dev/stdout, /dev/fd/3). Opening a FIFO
// waits for its reader.
func Write(path string, data []byte) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	if fd, ok := descriptor(path); ok {
		return writeTo(fd, path, data)
	}
	// Who may not write the file may not replace it either.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return replace(path, data, nil)
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if plain(path, info) {
		if err := f.Close(); err != nil {
			return err
		}
		if err := replace(path, data, info); !errors.Is(err, errInPlace) {
			return err
		}
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return err
		}
	}
	if info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// resolve follows the links that path itself may be. Those that lead to its directory
// are the system's to follow, so names are not cleaned: d/.. need not be where d is.
// The links of /proc lead to what may have no name.
func resolve(path string) (string, error) {
	for range maxLinks + 1 {
		if _, ok := descriptor(path); ok || strings.HasPrefix(path, "/proc/") {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link, or does not exist: who uses it finds out
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(path)
			to = dir + to
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: syscall.ELOOP}
}

// descriptor is the number of the process's own descriptor that a path stands for.
func descriptor(path string) (fd int, ok bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, false
	}
	switch path {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if text, here := strings.CutPrefix(path, dir); here {
			fd, err := strconv.Atoi(text)
			return fd, err == nil && fd >= 0
		}
	}
	return 0, false
}

// plain reports whether a file is one that another can take the place of.
func plain(path string, info fs.FileInfo) bool {
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return info.Mode().IsRegular() && info.Mode()&special == 0 && names(info) == 1 && !attributed(path) &&
		!strings.HasPrefix(path, "/proc/")
}

// errInPlace says that a file cannot be replaced by one like it.
var errInPlace = errors.New("write in place")

// replace puts a new file in the place of path. It is like old, unless there is none.
func replace(path string, data []byte, old fs.FileInfo) error {
	mode := fs.FileMode(newMode)
	if old != nil {
		mode = privateMode
	}
	tmp, err := create(path, mode)
	if old != nil && refused(err) {
		return errInPlace
	}
	if err != nil {
		return err
	}
	if old != nil && (own(tmp, old) != nil || tmp.Chmod(old.Mode().Perm()) != nil) {
		err = errInPlace
	}
	if err == nil {
		_, err = tmp.Write(data)
	}
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		if err = os.Rename(tmp.Name(), path); old != nil && refused(err) {
			err = errInPlace
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(path)
}

// refused reports whether a directory takes no new file, or not in the place of this one.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

// create makes an empty file beside path.
func create(path string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = base[:min(len(base), maxBase)]
	for try := 0; ; try++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.%d", dir, base, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}

// syncDir makes a rename to path durable, where the system lets it.
func syncDir(path string) error {
	dir, _ := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // the content is there
	}
	return err
}
