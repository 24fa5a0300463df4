package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Errors of Open. Any other than these two means that the system is short of
// something, or broken, and not that the file is not there.
var (
	// ErrNotFile stands for what is not there, is not a regular file, may not be
	// read, or lies outside of the root: a client is told no difference.
	ErrNotFile = errors.New("no such file")
	// ErrDirectory stands for a directory.
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

// Open opens the regular file of that name below root. It follows symbolic links
// as far as they stay below root, which the system is asked for one step at a
// time: a directory that is replaced by a link meanwhile fools nobody.
//
// A named pipe or a device is not waited for.
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

// Variant returns the precompressed variant of a file that suits a client best
// by its Accept-Encoding field, and closes f then; or f when there is none. The
// variant of "a.js" in brotli is "a.js.br". One that is older than the file was
// forgotten when that changed, and is left alone.
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
			return f, nil // short of descriptors, perhaps; the file itself is open
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

// Tag returns a strong entity tag (RFC 9110, 8.8.3) of size, modification time
// and coding. It tells versions apart where files are replaced, by rename or
// otherwise, and get the time at which that happens; tools that set times back
// want a tag of their own.
func (f *File) Tag() string {
	if f.Coding == "" {
		return fmt.Sprintf(`"%x-%x"`, f.Size, f.ModTime.UnixNano())
	}
	return fmt.Sprintf(`"%x-%x-%s"`, f.Size, f.ModTime.UnixNano(), f.Coding)
}
