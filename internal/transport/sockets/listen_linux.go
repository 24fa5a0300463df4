package sockets

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
)

// Listen implements [transport.Transport]. It must not be called after Serve.
func (t *Transport) Listen(network, address string, o transport.ListenOptions) (net.Addr, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != created {
		return nil, fmt.Errorf("listen on %s: %w", address, transport.ErrStopped)
	}
	undo := t.undo()
	addr, err := t.listen(network, address, o)
	if err != nil {
		undo()
		return nil, err
	}
	t.addrs = append(t.addrs, addr)
	return addr, nil
}

// undo returns what closes the listeners that are added from here on. t.mu is held
// for both.
func (t *Transport) undo() func() {
	had := make([]int, len(t.loops))
	for i, l := range t.loops {
		had[i] = len(l.listeners)
	}
	files := len(t.files)
	return func() {
		t.remove(t.files[files:])
		t.files = t.files[:files]
		for i, l := range t.loops {
			for len(l.listeners) > had[i] {
				l.closeListener(l.listeners[had[i]])
			}
		}
	}
}

// listen opens the sockets of Listen. t.mu is held.
func (t *Transport) listen(network, address string, o transport.ListenOptions) (net.Addr, error) {
	c := sys.ListenConfig{ReusePort: true, FastOpen: o.FastOpen, DeferAccept: o.DeferAccept, Backlog: o.Backlog}
	shared := network == "unix"
	var addr net.Addr
	for i, l := range t.loops {
		if i > 0 && shared {
			break
		}
		fd, a, err := sys.Listen(network, address, c)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		if shared && !strings.HasPrefix(address, "@") { // that is a name without a file
			t.files = append(t.files, address)
		}
		if addr == nil {
			addr, address = a, a.String() // a port that the kernel has chosen
		}
		l.adopt(fd, a, nil, o)
	}
	if shared {
		ln := t.loops[0].listeners[len(t.loops[0].listeners)-1]
		if err := t.share(ln.fd, addr, t.loops[1:], nil, o); err != nil {
			return nil, err
		}
	}
	return addr, nil
}

// share gives loops duplicates of a listening descriptor, which was given to us or is
// our own.
func (t *Transport) share(fd int, addr net.Addr, loops []*Loop, given net.Listener, o transport.ListenOptions) error {
	for _, l := range loops {
		dup, err := sys.DupFD(fd)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", addr, err)
		}
		l.adopt(dup, addr, given, o)
	}
	return nil
}

// Adopt implements [transport.Transport]. It must not be called after Serve.
func (t *Transport) Adopt(ln net.Listener, o transport.ListenOptions) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != created {
		return fmt.Errorf("adopt %s: %w", ln.Addr(), transport.ErrStopped)
	}
	fd, err := sys.Dup(ln)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", ln.Addr(), err)
	}
	defer sys.Close(fd)
	sys.KeepAlive(fd)
	undo := t.undo()
	if err := t.share(fd, ln.Addr(), t.loops, ln, o); err != nil {
		undo()
		return err
	}
	t.addrs = append(t.addrs, ln.Addr())
	return nil
}

// Drop implements [transport.Transport].
func (t *Transport) Drop(ln net.Listener, why error) {
	t.mu.Lock()
	serves := t.state == serving
	if t.state == created {
		for _, l := range t.loops {
			l.dropListeners(message{ends: &ends{of: ln, done: make(chan struct{})}})
		}
	}
	t.mu.Unlock()
	if serves {
		t.ask(dropListeners, ln)
	}
	if t.listening.Load() > 0 {
		t.log("listener accepts no more", why)
	}
	t.deafen(why)
}

// unlink removes the files of the Unix sockets that Listen has made, before these
// are closed, as package net does: the next server can listen there. t.mu is held.
func (t *Transport) unlink() {
	t.remove(t.files)
	t.files = nil
}

func (t *Transport) remove(files []string) {
	for _, name := range files {
		// Somebody may have removed it, which package net does not mind either.
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.log("remove socket", err)
		}
	}
}
