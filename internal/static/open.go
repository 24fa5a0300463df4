package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Errors of Open. Any other error means that the system lacks a resource, or is broken, and
// not that the file does not exist.
var (
	// ErrNotFile means that the name does not exist, is not a regular file, may not be
	// read, or is outside of the root: a client cannot distinguish these cases.
	ErrNotFile = errors.New("no such file")
	// ErrDirectory means that the name is a directory.
	ErrDirectory = errors.New("is a directory")
)

// A File is a regular file that is open for reading, or a precompressed variant
// of one. The caller closes it.
type File struct {
	*os.File
	Info    fs.FileInfo
	Coding  string // content coding of a variant; "" for the file itself
	Size    int64  // bytes, when it was opened
	ModTime time.Time
}

// Open opens the regular file of that name below root. It follows symbolic links that stay
// below root, and asks the system for one step at a time, so replacing a directory with a
// link meanwhile has no effect.
//
// Open does not wait for a named pipe or a device.
func Open(root *os.Root, name string) (*File, error) {
	f, err := root.OpenFile(name, openFlags, 0)
	if err != nil {
		if serious(err) || errors.Is(err, os.ErrClosed) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrNotFile, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = ErrDirectory
	case !info.Mode().IsRegular():
		err = ErrNotFile
	default:
		return &File{File: f, Info: info, Size: info.Size(), ModTime: info.ModTime()}, nil
	}
	return nil, errors.Join(err, f.Close())
}

// Variant returns the precompressed variant of a file that suits a client best according to
// its Accept-Encoding field, and then closes f; or f if there is none. The brotli variant
// of "a.js" is "a.js.br". A variant that is older than the file was not updated with it,
// and is ignored.
func (f *File) Variant(root *os.Root, name, accept string) (*File, error) {
	if accept == "" {
		return f, nil
	}
	codings, n := Codings(accept)
	for _, coding := range codings[:n] {
		v, err := Open(root, name+coding.Ext)
		if errors.Is(err, ErrNotFile) || errors.Is(err, ErrDirectory) {
			continue
		}
		if err != nil {
			return f, nil // perhaps no free descriptors; the file itself is open
		}
		if v.ModTime.Before(f.ModTime) {
			if err := v.Close(); err != nil {
				return f, err
			}
			continue
		}
		v.Coding = coding.Name
		return v, f.Close()
	}
	return f, nil
}

// Tag returns a strong entity tag (RFC 9110, 8.8.3) of size, modification time and coding.
// It distinguishes versions if files are replaced, by rename or otherwise, and get the time
// at which that happens; tools that set times back need their own tag.
func (f *File) Tag() string {
	if f.Coding == "" {
		return fmt.Sprintf(`"%x-%x"`, f.Size, f.ModTime.UnixNano())
	}
	return fmt.Sprintf(`"%x-%x-%s"`, f.Size, f.ModTime.UnixNano(), f.Coding)
}
