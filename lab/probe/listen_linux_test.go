package probe

import (
	"net"
	"os"
	"slices"
	"testing"
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
