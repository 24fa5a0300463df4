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

// mostRecorded limits the evidence that is read, in bytes of JSON.
const mostRecorded = 512 << 20

// record writes the evidence with all stacks, as compressed JSON.
func (o *Options) record(e *diagnose.Evidence) (err error) {
	if o.Record == "" {
		return nil
	}
	f, err := os.Create(o.Record)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := gzip.NewWriter(f)
	if err := json.NewEncoder(z).Encode(e); err != nil {
		return fmt.Errorf("--record %s: %w", o.Record, err)
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
		return nil, fmt.Errorf("--from %s: it is not what --record wrote: %w", path, err)
	}
	e := &diagnose.Evidence{}
	if err := json.NewDecoder(io.LimitReader(z, mostRecorded)).Decode(e); err != nil {
		return nil, fmt.Errorf("--from %s: it is not what --record wrote: %w", path, err)
	}
	return e, nil
}
