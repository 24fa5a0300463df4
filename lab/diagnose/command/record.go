package command

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redline-go/redline/lab/diagnose"
)

// mostRecorded limits the evidence that is read, in bytes of JSON. Decoded it takes several times
// as much.
const mostRecorded = 64 << 20

// recorded names the format of a recording.
const recorded = "redline.evidence/1"

type recording struct {
	Schema   string             `json:"schema"`
	Evidence *diagnose.Evidence `json:"evidence"`
}

// errRecording is the error of a file that is no recording.
var errRecording = errors.New("it is not what --record wrote")

// record writes the evidence with all stacks, as compressed JSON.
func record(w io.Writer, e *diagnose.Evidence) error {
	z := gzip.NewWriter(w)
	if err := json.NewEncoder(z).Encode(recording{recorded, e}); err != nil {
		return err
	}
	return z.Close()
}

// read reads recorded evidence.
func read(path string) (*diagnose.Evidence, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w: %w", path, errRecording, err)
	}
	limited := &io.LimitedReader{R: z, N: mostRecorded}
	var r recording
	switch err := json.NewDecoder(limited).Decode(&r); {
	case limited.N <= 0:
		return nil, fmt.Errorf("--from %s: it has more than %d MiB", path, mostRecorded>>20)
	case err != nil:
		return nil, fmt.Errorf("--from %s: %w: %w", path, errRecording, err)
	case r.Schema != recorded || r.Evidence == nil:
		return nil, fmt.Errorf("--from %s: %w: its schema is %q, not %q", path, errRecording, r.Schema, recorded)
	}
	return r.Evidence, r.Evidence.Check()
}
