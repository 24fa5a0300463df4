// Package tail keeps the end of a process's output.
package tail

import "sync"

// A Tail keeps the last Limit bytes that were written to it. It is safe for concurrent use;
// set Limit before.
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

// String returns what was kept; a leading ellipsis stands for what was dropped.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "..." + string(t.kept)
	}
	return string(t.kept)
}
