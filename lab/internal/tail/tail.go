// Package tail keeps the end of what a process printed.
package tail

import "sync"

// A Tail keeps the last Limit bytes that were written to it. It may be used
// concurrently; Limit is set before.
type Tail struct {
	Limit int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.Limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns what was kept; a leading ellipsis stands for what was not.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "..." + string(t.kept)
	}
	return string(t.kept)
}
