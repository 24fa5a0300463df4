// Package carry takes the files of a scenario to where they are not: it reads them
// into memory, travels as JSON, and is a file system there.
package carry

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Files is a file system of contents by name. Names are those that the files had
// where they were read, whatever they look like.
type Files map[string][]byte

// Read reads files.
func Read(names []string) (Files, error) {
	files := Files{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("carry a file: %w", err)
		}
		files[name] = data
	}
	return files, nil
}

// Open implements fs.FS.
func (f Files) Open(name string) (fs.File, error) {
	data, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{bytes.NewReader(data), info{path.Base(name), int64(len(data))}}, nil
}

// file is one of them, opened.
type file struct {
	*bytes.Reader
	about info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.about, nil }
func (f *file) Close() error               { return nil }

type info struct {
	name string
	size int64
}

func (i info) Name() string     { return i.name }
func (i info) Size() int64      { return i.size }
func (info) Mode() fs.FileMode  { return 0o444 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }
