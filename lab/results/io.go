package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redline-go/redline/lab/internal/file"
)

// DamagedError reports a file that is not the JSON that it should be: cut off,
// overwritten, or with a value of the wrong type.
type DamagedError struct {
	Path   string
	Offset int64 // bytes from the file's begin at which reading it stopped
	Err    error // from encoding/json
}

// Error says where the file is damaged, and what can be done.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v; restore it from a copy, or measure again",
		e.Path, e.Offset, e.Err)
}

// Unwrap returns the error of encoding/json.
func (e *DamagedError) Unwrap() error { return e.Err }

// SchemaError reports a JSON file that is something other than a results file.
type SchemaError struct {
	Path   string
	Schema string // what the file says that it is; empty when it says nothing
}

// Error says what the file is, if it says so itself.
func (e *SchemaError) Error() string {
	if e.Schema == "" {
		return fmt.Sprintf("%s is no results file: it has no field \"schema\" with the value %q", e.Path, SchemaName)
	}
	return fmt.Sprintf("%s is no results file: its schema is %q, not %q", e.Path, e.Schema, SchemaName)
}

// VersionError reports a results file of a version that this package does not read.
type VersionError struct {
	Path    string
	Version int    // of the file
	Tool    string // that wrote it, as the file says; may be empty
}

// Error names both versions, and what can be done.
func (e *VersionError) Error() string {
	by := ""
	if e.Tool != "" {
		by = fmt.Sprintf(" (by %s)", e.Tool)
	}
	advice := "read it with a newer redline"
	if e.Version < SchemaVersion {
		advice = "read it with the redline that wrote it, or measure again"
	}
	return fmt.Sprintf("%s was written by version %d of the schema%s; this redline reads %d: %s",
		e.Path, e.Version, by, SchemaVersion, advice)
}

// Load reads a results file. It returns a [*DamagedError], a [*SchemaError] or
// a [*VersionError] for a file that it cannot use, and the error of package os
// for one that it cannot read. Fields that it does not know are ignored: within
// a version, fields are only added.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load results: %w", err)
	}
	// The head is read first: a file of another version may well differ in
	// types, and must be called another version, not damaged.
	var head struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
		Tool    string `json:"tool"`
	}
	if err := decode(path, data, &head); err != nil {
		return nil, err
	}
	if head.Schema != SchemaName {
		return nil, &SchemaError{Path: path, Schema: head.Schema}
	}
	if head.Version != SchemaVersion {
		return nil, &VersionError{Path: path, Version: head.Version, Tool: head.Tool}
	}
	f := new(File)
	if err := decode(path, data, f); err != nil {
		return nil, err
	}
	return f, nil
}

// decode is json.Unmarshal with an error that knows its offset.
func decode(path string, data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	damage := &DamagedError{Path: path, Err: err}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		damage.Offset = syntax.Offset
	case errors.As(err, &mismatch):
		damage.Offset = mismatch.Offset
	default:
		return fmt.Errorf("load results: %s: %w", path, err)
	}
	return damage
}

// Save writes f to path, stamped with the schema and version of this package, as
// [file.Write] does: whole or not at all. f is not changed. A figure that JSON cannot hold (NaN, an
// infinity) is an error, and path is left alone.
func Save(path string, f *File) error {
	stamped := *f
	stamped.Schema, stamped.Version = SchemaName, SchemaVersion
	var data bytes.Buffer
	if err := Encode(&data, &stamped); err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	if err := file.Write(path, data.Bytes()); err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	return nil
}

// Encode writes f as a results file holds it: one line of JSON.
func Encode(w io.Writer, f *File) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // a results file is read by people, too
	return enc.Encode(f)
}
