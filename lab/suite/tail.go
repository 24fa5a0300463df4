package suite

import "sync"

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
	cut   bool
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns what was kept; a leading ellipsis stands for what was not.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "..." + string(t.kept)
	}
	return string(t.kept)
}
