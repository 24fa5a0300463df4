// Package file writes the output files of commands without destroying data of the user.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	newMode     = 0o644 // of a new file, before the umask
	privateMode = 0o600 // of a replacement file, until it is given the mode of the old one
	maxLinks    = 40    // symbolic links that are followed, as in Linux
	maxBase     = 200   // bytes of the name that a temporary file keeps
)

// Write sets the content of the file at path to data.
//
// A plain file is replaced atomically: a reader sees either the old content or all of the
// new one, even after a crash, and an error leaves the old one. Mode and owner are
// preserved, and a symbolic link keeps pointing to the file.
//
// A file that cannot be replaced by an equivalent one is written in place, and restored on an
// error such as that of a full disk, but not after a crash: a file with several names (hard
// links), with extended attributes (an ACL), with set-ID bits, with an owner that cannot be
// preserved, that is a mount point, or in a directory in which no files can be created.
//
// Anything that is not a regular file is written to, as with a shell redirection: a device,
// a FIFO, or a descriptor of the process (/dev/stdout, /dev/fd/3). Opening a FIFO waits for
// its reader.
func Write(path string, data []byte) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	if fd, ok := descriptor(path); ok {
		return writeTo(fd, path, data)
	}
	// Without permission to write the file it must not be replaced either.
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
		err = rewrite(path, f, info.Size(), data)
	} else {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// rewrite replaces the content of the regular file f, of size bytes, in place. On an error it
// restores what it has overwritten, if the file may be read.
func rewrite(path string, f *os.File, size int64, data []byte) error {
	same := min(size, int64(len(data)))
	var old []byte
	if r, err := os.Open(path); err == nil {
		old = make([]byte, same)
		if _, err := io.ReadFull(r, old); err != nil {
			return errors.Join(fmt.Errorf("read what is overwritten: %w", err), r.Close())
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	// What makes the file longer is first: if the disk is full, nothing is overwritten yet.
	_, err := f.WriteAt(data[same:], size)
	if err == nil {
		_, err = f.WriteAt(data[:same], 0)
	}
	if err == nil {
		return f.Truncate(int64(len(data)))
	}
	if old != nil {
		// What cannot be written here was not overwritten either.
		_, _ = f.WriteAt(old, 0)
	}
	return errors.Join(err, f.Truncate(size))
}

// resolve follows symbolic links if path itself is one. The system follows links in its
// directory, so names are not cleaned: d/.. may not be the directory that contains d. The
// links in /proc may lead to files without a name.
func resolve(path string) (string, error) {
	for range maxLinks + 1 {
		if _, ok := descriptor(path); ok || strings.HasPrefix(path, "/proc/") {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or it does not exist, which its use reports
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(path)
			to = dir + to
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: syscall.ELOOP}
}

// descriptor returns the descriptor of the process that a path denotes.
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

// plain reports whether a file can be replaced by another one.
func plain(path string, info fs.FileInfo) bool {
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return info.Mode().IsRegular() && info.Mode()&special == 0 && names(info) == 1 && !attributed(path) &&
		!strings.HasPrefix(path, "/proc/")
}

// errInPlace means that a file cannot be replaced by an equivalent one.
var errInPlace = errors.New("write in place")

// replace replaces path with a new file, which has the attributes of old if there is one.
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

// refused reports whether a file cannot be created in a directory, or cannot replace this
// one.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

// create creates an empty file in the directory of path.
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

// syncDir makes a rename to path durable, if the system supports it.
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
		return nil // the content is complete
	}
	return err
}
