package spec

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Files transfers the files of a scenario to another machine: it holds them in memory, is
// sent as JSON, and is a file system on the other side. The names are those that the files
// had where they were read; any name is valid.
type Files map[string][]byte

// ReadFiles reads files into memory.
func ReadFiles(names []string) (Files, error) {
	files := Files{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a file of the scenario: %w", err)
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
	return &carried{bytes.NewReader(data), carriedInfo{path.Base(name), int64(len(data))}}, nil
}

// carried is an open file of Files.
type carried struct {
	*bytes.Reader
	about carriedInfo
}

func (f *carried) Stat() (fs.FileInfo, error) { return f.about, nil }
func (f *carried) Close() error               { return nil }

type carriedInfo struct {
	name string
	size int64
}

func (i carriedInfo) Name() string     { return i.name }
func (i carriedInfo) Size() int64      { return i.size }
func (carriedInfo) Mode() fs.FileMode  { return 0o444 }
func (carriedInfo) ModTime() time.Time { return time.Time{} }
func (carriedInfo) IsDir() bool        { return false }
func (carriedInfo) Sys() any           { return nil }
