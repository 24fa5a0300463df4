package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// compile makes the plan of a scenario.
func (s *Scenario) compile() (*scenario.Plan, error) {
	o := scenario.Options{Base: s.Base}
	if s.Files != nil {
		o.FS = carried(s.Files)
	}
	if s.Think != "" {
		think, err := dist.Parse(s.Think)
		if err != nil {
			return nil, fmt.Errorf("think time: %w", err)
		}
		o.Think = think
	}
	if s.Request != nil {
		return scenario.Single(*s.Request, o)
	}
	return scenario.Parse(s.Name, s.Text, o)
}

// Carry reads the files that the scenario names into Files, for a process that
// cannot: one on another machine. Errors are those of the scenario, or of reading.
func (s *Scenario) Carry() error {
	plan, err := s.compile()
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, name := range plan.Files()[1:] { // the first is Text, or Request
		if files[name], err = os.ReadFile(name); err != nil {
			return errors.Join(fmt.Errorf("carry the scenario's files: %w", err), plan.Close())
		}
	}
	s.Files = files
	return plan.Close()
}

// carried is a file system of what came with the orders. Names are those that the
// scenario's files had where they were read, whatever they looked like.
type carried map[string][]byte

// Open implements fs.FS.
func (c carried) Open(name string) (fs.File, error) {
	data, ok := c[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &carriedFile{bytes.NewReader(data), carriedInfo{path.Base(name), int64(len(data))}}, nil
}

// carriedFile is one of them, opened.
type carriedFile struct {
	*bytes.Reader
	info carriedInfo
}

func (f *carriedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *carriedFile) Close() error               { return nil }

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
