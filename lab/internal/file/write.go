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
)

// newMode is the mode of a new file, less the umask.
const newMode = 0o644

// Write gives the file at path the content data.
//
// A regular file is replaced in one step: a reader sees the old content or the whole of
// the new one, also after a crash, and an error leaves the old one. Its mode and its
// owner stay, and a symbolic link keeps pointing to it. Where that is not possible,
// because it has other names (hard links), or its owner cannot be kept, it is written in
// place.
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
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(path, data, nil)
	case err != nil:
		return err
	}
	// Who may not write the file may not replace it either.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && names(info) == 1 && !strings.HasPrefix(path, "/proc/") {
		err := replace(path, data, info)
		if !errors.Is(err, errInPlace) {
			return errors.Join(err, f.Close())
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

// maxLinks is how many links are followed, as by Linux.
const maxLinks = 40

// resolve follows the links that path itself may be. Those that lead to its directory
// are the system's to follow, and those of /proc lead to what may have no name.
func resolve(path string) (string, error) {
	for range maxLinks {
		if _, ok := descriptor(path); ok || strings.HasPrefix(path, "/proc/") {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link, or does not exist: who uses it finds out
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// descriptor is the number of the process's own descriptor that a path stands for.
func descriptor(path string) (fd int, ok bool) {
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

// errInPlace says that a file cannot be replaced by one like it.
var errInPlace = errors.New("write in place")

// replace puts a new file in the place of path. It is like old, unless there is none.
func replace(path string, data []byte, old fs.FileInfo) error {
	tmp, err := create(path)
	if err != nil {
		if old != nil {
			return errInPlace // of a directory that takes no new files
		}
		return err
	}
	err = like(tmp, old)
	if err == nil {
		_, err = tmp.Write(data)
	}
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// create makes an empty file beside path.
func create(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for try := 0; ; try++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%s.%d", base, rand.Uint32())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}

// like gives f the owner and the mode of old, or returns errInPlace.
func like(f *os.File, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	if own(f, old) != nil || f.Chmod(old.Mode().Perm()) != nil {
		return errInPlace
	}
	return nil
}

// syncDir makes a rename within dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
