package tickets

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The file of keys is text:
//
//	redline ticket keys 1
//	2026-01-02T15:04:05Z 0123456789abcdef...   from when on a key is used, and the key in hexadecimal
//	2026-01-02T03:04:05Z fedcba9876543210...   the newest key is first
const header = "redline ticket keys 1\n"

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 4096

// errBusy is the error of a lock that another process holds.
var errBusy = errors.New("another process holds the lock")

// parse reads the text of a file of keys. No error contains a part of a key.
func parse(text []byte) ([]key, error) {
	if len(text) > maxFile {
		return nil, errors.New("is larger than a file of ticket keys")
	}
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return nil, errors.New("is not a file of ticket keys: its first line differs")
	}
	var keys []key
	for n := 2; len(rest) > 0; n++ {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		k, err := parseLine(line)
		if err == nil && !ended {
			err = errors.New("has no end")
		}
		if err == nil && len(keys) > 0 && !k.from.Before(keys[len(keys)-1].from) {
			err = errors.New("is not older than the line before")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d %w", n, err)
		}
		keys = append(keys, k)
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	return keys, nil
}

// parseLine reads a line without its end.
func parseLine(line []byte) (k key, err error) {
	at, digits, _ := bytes.Cut(line, []byte(" "))
	k.from, err = time.Parse(time.RFC3339Nano, string(at))
	if err != nil || k.from.Location() != time.UTC || k.from.Year() < 1970 || string(at) != k.from.Format(time.RFC3339Nano) {
		return k, errors.New("does not begin with a time in UTC, as in 2026-01-02T15:04:05Z")
	}
	if len(digits) != 2*len(k.secret) {
		return k, errors.New("does not have 64 hexadecimal digits after the time")
	}
	if _, err := hex.Decode(k.secret[:], digits); err != nil {
		return k, errors.New("does not have 64 hexadecimal digits after the time") // err contains a digit
	}
	return k, nil
}

// encode is the reverse of parse.
func encode(keys []key) []byte {
	text := []byte(header)
	for _, k := range keys {
		text = k.from.UTC().AppendFormat(text, time.RFC3339Nano)
		text = append(text, ' ')
		text = hex.AppendEncode(text, k.secret[:])
		text = append(text, '\n')
	}
	return text
}

// A file is the source of keys that processes share.
type file struct {
	path string
	schedule
}

// read reads the keys, and refuses a file that others can read or write. A file that does
// not exist is an fs.ErrNotExist.
func (s *file) read() ([]key, error) {
	f, err := openOwn(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	keys, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w; remove it, and new keys are made", s.path, err)
	}
	return keys, nil
}

// refresh reads the keys. Where others are due it writes them, unless another process does
// so at this moment; then these keys are read the next time.
func (s *file) refresh(now time.Time, hurry bool) ([]key, error) {
	keys, err := s.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	planned, changed := s.plan(keys, now)
	if !changed && !hurry {
		return planned, nil
	}
	unlock, err := lock(s.path + ".lock")
	if errors.Is(err, errBusy) && len(keys) > 0 && !hurry {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	// The file may be another one than before the lock.
	if keys, err = s.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if planned, changed = s.plan(keys, now); hurry {
		planned, changed = s.hurry(keys, now), true
	}
	if !changed {
		return planned, nil
	}
	if err := s.write(planned); err != nil {
		return nil, err
	}
	return planned, nil
}

// write replaces the file. Readers see the old one or the new one. The lock is held.
func (s *file) write(keys []key) (err error) {
	name := s.path + ".new"
	// One of a process that was killed may be left.
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	_, err = f.Write(encode(keys))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name, s.path)
}

// newFile makes a source for a path, which stays the same when the working directory changes.
func newFile(path string, s schedule) (*file, error) {
	path, err := filepath.Abs(path)
	return &file{path, s}, err
}
