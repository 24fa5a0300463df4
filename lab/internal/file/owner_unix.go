//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// names is how many names a file has.
func names(info fs.FileInfo) uint64 {
	return uint64(info.Sys().(*syscall.Stat_t).Nlink)
}

// own gives f the owner of old, if it is not the same already.
func own(f *os.File, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, was := info.Sys().(*syscall.Stat_t), old.Sys().(*syscall.Stat_t)
	if is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// writeTo writes to a descriptor of the process, which stays open.
func writeTo(fd int, path string, data []byte) error {
	dup, err := syscall.Dup(fd)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	syscall.CloseOnExec(dup)
	f := os.NewFile(uintptr(dup), path)
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
