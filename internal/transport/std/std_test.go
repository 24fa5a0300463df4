package std

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) { return New(c) },
		transporttest.Limits{LostBehindData: true, NoTakeover: true})
}

// TestSendFile sends ranges of a file, both ways, and leaves its offset alone.
func TestSendFile(t *testing.T) {
	const size = 3 << 20 // more than the socket takes at once
	want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, send := range []func(net.Conn, *os.File, int64, int) (int, error){sendFile, copyFile} {
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, nc := range []net.Conn{peer, c} {
			if err := nc.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() {
			defer c.Close()
			var err error
			for off, n := 1, 0; err == nil && off < size; off += n {
				n, err = send(c, f, int64(off), min(size-off, 100<<10))
			}
			done <- err
		}()
		got, err := io.ReadAll(peer)
		if err != nil || !bytes.Equal(got, want[1:]) {
			t.Errorf("%d bytes are received, %v, want %d, or they differ", len(got), err, size-1)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		peer.Close()
		if n, err := send(peer, f, 0, 10); err == nil {
			t.Errorf("%d bytes are sent to a closed connection", n)
		}
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 0 || err != nil {
		t.Errorf("the file's offset is %d, %v, want 0", at, err)
	}
}
