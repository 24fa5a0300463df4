package subject

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"
)

// control is an open control socket: one JSON line for every newline a client
// sends.
type control struct {
	ln      net.Listener
	sampler *sampler
	served  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
}

func openControl(path, name, title string) (*control, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	c := &control{ln: ln, sampler: newSampler(name, title), conns: make(map[net.Conn]struct{})}
	c.served.Go(c.accept)
	return c, nil
}

// removeStale removes the socket that a killed process left behind. A socket that
// still answers, and a file that is no socket, are left alone.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open control socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("open control socket: %s exists and is no socket", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		conn.Close()
		return fmt.Errorf("open control socket: %s is in use", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	return nil
}

func (c *control) accept() {
	for {
		conn, err := c.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: the measured connections come first.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		c.mu.Lock()
		if c.conns == nil {
			conn.Close()
		} else {
			c.conns[conn] = struct{}{}
			c.served.Go(func() { c.serve(conn) })
		}
		c.mu.Unlock()
	}
}

func (c *control) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		c.mu.Lock()
		delete(c.conns, conn)
		c.mu.Unlock()
	}()
	in := bufio.NewReaderSize(conn, 64)
	line := make([]byte, 0, 4096)
	for {
		char, err := in.ReadByte()
		if err != nil {
			return
		}
		if char != '\n' {
			continue
		}
		line = c.sampler.appendLine(line[:0])
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
}

// close removes the socket and ends its clients.
func (c *control) close() {
	c.ln.Close() // unlinks the file
	c.mu.Lock()
	for conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
	c.mu.Unlock()
	c.served.Wait()
}
