//go:build !twin

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Baskets are kept below a directory, each by itself.
type Baskets struct{ dir string }

func newBaskets(dir string) (*Baskets, error) {
	return &Baskets{dir}, os.MkdirAll(dir, 0o700)
}

// put adds an article, and returns the basket as text.
func (s *Baskets) put(id string, article int) ([]byte, error) {
	b, err := s.load(id)
	if err != nil {
		return nil, err
	}
	text := b.add(article).append(nil)
	return text, s.save(id, text)
}

func (s *Baskets) load(id string) (b Basket, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for word := range bytes.SplitSeq(text, []byte{','}) {
		article, err := strconv.Atoi(string(word))
		if err != nil {
			return nil, err
		}
		b = append(b, article)
	}
	return b, nil
}

// save replaces a basket as a whole, whatever happens to the machine.
func (s *Baskets) save(id string, text []byte) error {
	f, err := os.CreateTemp(s.dir, id+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, id))
}
