//go:build !twin

package main

import "os"

// queue gives a document its number. The archive takes over the file: its name is not needed
// any more.
func (s *spool) queue(j *job) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.jobs[s.next] = j
	return s.next, os.Remove(j.file.Name())
}
