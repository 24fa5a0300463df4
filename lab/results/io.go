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

// DamagedError reports a file that is not the expected JSON: truncated, overwritten, or
// with a value of the wrong type.
type DamagedError struct {
	Path   string
	Offset int64 // offset in the file at which parsing failed
	Err    error // from encoding/json
}

// Error says where the file is damaged, and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v; restore it from a copy, or measure again",
		e.Path, e.Offset, e.Err)
}

// Unwrap returns the error of encoding/json.
func (e *DamagedError) Unwrap() error { return e.Err }

// SchemaError reports a JSON file that is no results file.
type SchemaError struct {
	Path   string
	Schema string // schema that the file declares; empty if none
}

// Error says what the file is, if it declares it.
func (e *SchemaError) Error() string {
	if e.Schema == "" {
		return fmt.Sprintf("%s is no results file: it has no field \"schema\" with the value %q", e.Path, SchemaName)
	}
	return fmt.Sprintf("%s is no results file: its schema is %q, not %q", e.Path, e.Schema, SchemaName)
}

// VersionError reports a results file of a version that this package does not support.
type VersionError struct {
	Path    string
	Version int    // of the file
	Tool    string // that wrote it, according to the file; may be empty
}

// Error names both versions, and what to do.
func (e *VersionError) Error() string {
	by := ""
	if e.Tool != "" {
		by = fmt.Sprintf(" (by %s)", e.Tool)
	}
	advice := "read it with a newer redline"
	if e.Version < SchemaVersion {
		advice = "read it with the redline that wrote it, or measure again"
	}
	return fmt.Sprintf("%s was written by version %d of the schema%s; this redline reads %d to %d: %s",
		e.Path, e.Version, by, oldestVersion, SchemaVersion, advice)
}

// Load reads a results file. It returns a [*DamagedError], a [*SchemaError] or a
// [*VersionError] for a file that it cannot use, and the error of package os for one that
// it cannot read. Unknown fields are ignored: within a version, fields are only added.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load results: %w", err)
	}
	// The head is parsed first: types may differ in a file of another version, which must
	// be reported as another version, not as damaged.
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
	if head.Version < oldestVersion || head.Version > SchemaVersion {
		return nil, &VersionError{Path: path, Version: head.Version, Tool: head.Tool}
	}
	f := new(File)
	if err := decode(path, data, f); err != nil {
		return nil, err
	}
	return f, nil
}

// decode is json.Unmarshal with an error that includes the offset.
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

// Save writes f to path with the schema and version of this package. It uses [file.Write]:
// the file is complete or unchanged. f is not changed. A value that JSON cannot represent
// (NaN, an infinity) is an error, and leaves path unchanged.
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

// Encode writes f in the format of a results file: one line of JSON.
func Encode(w io.Writer, f *File) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // people read results files, too
	return enc.Encode(f)
}
