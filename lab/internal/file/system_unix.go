//go:build linux || darwin

package file

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// names returns how many names (hard links) a file has.
func names(info fs.FileInfo) uint64 {
	return uint64(info.Sys().(*syscall.Stat_t).Nlink)
}

// attributed reports whether a file has extended attributes that the system does not set on
// every new file.
func attributed(path string) bool {
	list := make([]byte, 64<<10) // maximum that Linux returns
	n, err := unix.Listxattr(path, list)
	if err != nil {
		return false // not supported here
	}
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if name != "" && name != "security.selinux" {
			return true
		}
	}
	return false
}

// own gives f the owner of old, unless it is the same already.
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

// writeTo writes to a descriptor of the process, which remains open.
func writeTo(fd int, path string, data []byte) error {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(dup), path)
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
