//go:build twin

package main

import "os"

// queue gives a document its number, and hands it to the archive.
func (s *spool) queue(j *job) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	if err := j.file.Close(); err != nil {
		return 0, err
	}
	return s.next, os.Remove(j.file.Name())
}
