package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/watch"
)

// found is the process that is watched, and the samplers of its runtime.
type found struct {
	pid     int
	runtime []watch.Sampler
}

// find connects to the runtime, and finds the process by it if it is not given. ended is closed
// when the command ends that was started, and nil without one.
func find(ctx context.Context, o *Options, ended <-chan struct{}) (f found, err error) {
	f.pid = o.PID
	defer func() {
		if err != nil {
			for _, s := range f.runtime {
				err = errors.Join(err, s.Close())
			}
			f.runtime = nil
		}
	}()
	base := ""
	if o.PProf != "" {
		if base, err = observe.ParseBase(o.PProf); err != nil {
			return f, cli.Usage("--pprof %w", err)
		}
	}
	switch {
	case o.Control != "":
		// The socket costs the server less than pprof and provides more.
		socket, err := openSocket(ctx, o, ended)
		if err != nil {
			return f, fmt.Errorf("--control %s: %w", o.Control, err)
		}
		f.runtime = append(f.runtime, newRuntime(ctx, socket))
	case base != "":
		pages, err := openPages(ctx, ended, base)
		if err != nil {
			return f, fmt.Errorf("--pprof %s: %w", o.PProf, err)
		}
		f.runtime = append(f.runtime, newRuntime(ctx, pages))
	}
	if f.pid == 0 && o.Control != "" {
		if f.pid, err = ownerOfSocket(o.Control); err != nil {
			return f, fmt.Errorf("--control %s: %w", o.Control, err)
		}
	}
	if f.pid == 0 && base != "" {
		if f.pid, err = ownerOfURL(base); err != nil {
			return f, fmt.Errorf("--pprof %s: %w", o.PProf, err)
		}
	}
	return f, nil
}

// openSocket connects to a control socket. A process that was just started gets time to open
// it.
func openSocket(ctx context.Context, o *Options, ended <-chan struct{}) (source observe.Source, err error) {
	err = patiently(ctx, ended, func() error {
		s, _, err := observe.OpenSocket(ctx, o.Control)
		source = s
		return err
	})
	return source, err
}

func openPages(ctx context.Context, ended <-chan struct{}, base string) (source observe.Source, err error) {
	err = patiently(ctx, ended, func() error {
		p, err := observe.OpenPProf(ctx, base)
		source = p
		return err
	})
	return source, err
}

// ownerOfSocket finds the process that listens on a control socket.
func ownerOfSocket(path string) (pid int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return 0, err
	}
	pid, err = probe.ListeningUnix(conn)
	if err = errors.Join(err, conn.Close()); err == nil && pid == 0 {
		err = errors.New("the process that listens there is unknown; name it with --pid")
	}
	return pid, err
}

// ownerOfURL finds the process of this machine that listens on the port of a URL.
func ownerOfURL(base string) (int, error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, err
	}
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return 0, err
		}
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, errors.New("the process may be on another machine; if it is on this one, name it with --pid")
	}
	pids, err := probe.Listening(port)
	if err != nil {
		return 0, err
	}
	// Of a parent with children that share the port, the parent.
	for _, pid := range pids {
		tree := probe.Tree(pid)
		if !slices.ContainsFunc(pids, func(other int) bool { return !slices.Contains(tree, other) }) {
			return pid, nil
		}
	}
	if len(pids) == 0 {
		return 0, fmt.Errorf("the process that listens on port %d is unknown, perhaps because it is another user's; run as root, or name it with --pid", port)
	}
	return 0, fmt.Errorf("the processes %v listen on port %d; name one with --pid", pids, port)
}
