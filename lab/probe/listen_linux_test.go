package probe

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/internal/procfs"
)

func TestListening(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	pids, err := Listening(port)
	if err != nil || !slices.Equal(pids, []int{os.Getpid()}) {
		t.Errorf("processes %v, %v; want %d", pids, err, os.Getpid())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if pids, err = Listening(port); err != nil || slices.Contains(pids, os.Getpid()) { // the port may be another's by now
		t.Errorf("processes %v, %v after the socket was closed", pids, err)
	}
}

// systemd keeps the sockets of services; another first process, as in a container, may serve.
func TestWithoutSystemd(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for comm, want := range map[string][]int{"systemd\n": {7, 9}, "nginx\n": {1, 7, 9}} {
		if err := os.WriteFile(filepath.Join(root, "proc", "1", "comm"), []byte(comm), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := withoutSystemd(procfs.FS(root), []int{1, 7, 9}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", comm, got, want)
		}
	}
}
