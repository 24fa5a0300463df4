package rivals

import (
	"io"
	"net"
	"os"
	"testing"
)

// The kernel's count is what the server sent, also over connections that were closed.
func TestTally(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tally := newTally(l.Addr().(*net.TCPAddr).Port)
	sent := 0
	send := func(size int) (client, server net.Conn) {
		t.Helper()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if server, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		// The next byte from the client carries the acknowledgement of what it read.
		if _, err := io.ReadFull(client, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(server, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		sent += size
		return client, server
	}
	check := func(what string) {
		t.Helper()
		if got, err := tally.read(); err != nil || got != uint64(sent) {
			t.Errorf("%s: %d bytes, %v; the server sent %d", what, got, err, sent)
		}
	}
	check("no connection")
	c1, s1 := send(1000)
	defer c1.Close()
	defer s1.Close()
	check("one")
	c2, s2 := send(50000)
	check("two")
	for _, c := range []net.Conn{c2, s2} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check("one has ended")
	c3, s3 := send(7)
	defer c3.Close()
	defer s3.Close()
	check("another")
}

func TestTallyRefusesDamage(t *testing.T) {
	for _, b := range [][]byte{
		{255, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, // longer than the data
		{3, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},   // shorter than its header
		{16, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},   // an error without its number
	} {
		if _, err := newTally(1).take(b); err == nil {
			t.Errorf("% x is accepted", b)
		}
	}
}

func TestCPUTime(t *testing.T) {
	if d, err := cpuTime(os.Getpid()); err != nil || d <= 0 {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := cpuTime(1 << 30); err == nil {
		t.Errorf("of no process: %v", d)
	}
}
