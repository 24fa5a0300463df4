package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/trace/handlers"
)

const (
	answerTime   = 30 * time.Second // of a server, in addition to the time of the trace
	saidLimit    = 200
	lineLimit    = 4 << 10
	socketSchema = "redline.profile/1" // of the line before a trace on a control socket
)

// errCut is the error of a trace of which only the beginning came.
var errCut = errors.New("the trace is cut off")

// take takes a trace into f, while the load runs if there is one. The beginning of a trace is there
// if the error is errCut.
func take(ctx context.Context, o *Options, console Console, f *os.File) (from origin, err error) {
	fetch, source, err := o.source()
	if err != nil {
		return origin{}, err
	}
	pid := o.PID
	if len(o.Command) > 0 {
		if err := child.Free(ctx, o.Load.URL); err != nil {
			return origin{}, err
		}
		c, failed := child.Start(o.Command, child.Options{Out: console.Err})
		if failed != nil {
			return origin{}, failed
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if err := o.ready(ctx, c); err != nil {
			if ctx.Err() != nil {
				return origin{}, interrupted(console)
			}
			return origin{}, err
		}
		pid = c.PID()
	}
	from = origin{name: source}
	stop := func() error { return nil }
	if o.Handlers {
		if stop, err = from.look(pid, console); err != nil {
			return origin{}, err
		}
	}
	load, err := o.Load.begin(ctx, o.For)
	if err != nil {
		return origin{}, errors.Join(err, stop())
	}
	err = fetch(ctx, console, f)
	err = errors.Join(err, stop(), load.end(console))
	if ctx.Err() != nil {
		return origin{}, interrupted(console)
	}
	return from, err
}

// look begins to look at the handlers of a process, until stop is called.
func (from *origin) look(pid int, console Console) (stop func() error, err error) {
	w, err := handlers.Start(pid)
	if err != nil {
		return nil, fmt.Errorf("--handlers: %w", err)
	}
	return func() error {
		seen, lost, err := w.Stop()
		if lost > 0 {
			fmt.Fprintf(console.Err, "redline: calls of handlers that were not seen, because there were too many: %d\n", lost)
		}
		from.handlers = seen
		return err
	}, nil
}

// source returns the function that takes the trace.
func (o *Options) source() (fetch func(context.Context, Console, io.Writer) error, name string, err error) {
	if o.Control != "" {
		return func(ctx context.Context, _ Console, w io.Writer) error { return o.fromSocket(ctx, w) }, o.Control, nil
	}
	base, err := observe.ParseBase(o.PProf)
	if err != nil {
		return nil, "", cli.Usage("--pprof %w", err)
	}
	return func(ctx context.Context, console Console, w io.Writer) error {
		return o.fromPages(ctx, console, base, w)
	}, base, nil
}

// ready waits until a command that was just started serves its traces.
func (o *Options) ready(ctx context.Context, c *child.Child) error {
	err := child.Patiently(ctx, c.Done(), func() error { return o.connect(ctx) })
	switch {
	case err != nil && c.Ended():
		return fmt.Errorf("%s ended before it served a trace: %s", c.Name(), c.How())
	case err != nil:
		return fmt.Errorf("%s does not serve traces: %w", c.Name(), err)
	}
	return nil
}

// connect reports whether the source answers.
func (o *Options) connect(ctx context.Context) error {
	if o.Control != "" {
		conn, err := net.DialTimeout("unix", o.Control, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	base, err := observe.ParseBase(o.PProf)
	if err != nil {
		return cli.Usage("--pprof %w", err)
	}
	p, err := observe.OpenPProf(ctx, base)
	if err == nil {
		err = p.Close()
	}
	return err
}

// fromPages takes a trace from net/http/pprof. A CPU profile at the same time puts samples into
// the trace; its own content is discarded.
func (o *Options) fromPages(ctx context.Context, console Console, base string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.For+answerTime)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	seconds := int(o.For / time.Second)
	if o.Samples {
		all.Go(func() {
			if err := o.get(ctx, fmt.Sprintf("%s/profile?seconds=%d", base, seconds), io.Discard); err != nil && ctx.Err() == nil {
				fmt.Fprintf(console.Err, "redline: the trace is without CPU samples: %s\n", redact.Text(err.Error()))
			}
		})
	}
	return cutOff(o.get(ctx, fmt.Sprintf("%s/trace?seconds=%d", base, seconds), w))
}

// cutOff makes an error of a connection that ended early, or went silent, one of errCut.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return err
}

// get copies a page to w.
func (o *Options) get(ctx context.Context, page string, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("get %s: %w", page, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, saidLimit)) // the server's error message
		return fmt.Errorf("get %s: status %d: %s", page, answer.StatusCode, strings.Join(strings.Fields(string(said)), " "))
	}
	if err := o.keep(w, answer.Body); err != nil {
		return fmt.Errorf("get %s: %w", page, err)
	}
	return nil
}

// keep copies a trace, up to the limit.
func (o *Options) keep(w io.Writer, r io.Reader) error {
	n, err := io.Copy(w, io.LimitReader(r, o.Largest*mebi+1))
	if err == nil && n > o.Largest*mebi {
		err = fmt.Errorf("the trace is larger than %d MiB: trace a shorter time, or raise --largest", o.Largest)
	}
	return err
}

// fromSocket takes a trace from a control socket, as a profile of the kind trace.
func (o *Options) fromSocket(ctx context.Context, w io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.For+answerTime)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", o.Control)
	if err != nil {
		return fmt.Errorf("--control: %w", err)
	}
	defer func() {
		if closed := conn.Close(); err == nil && ctx.Err() == nil {
			err = closed
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "profile trace %g\n", o.For.Seconds()); err != nil {
		return fmt.Errorf("--control %s: %w", o.Control, err)
	}
	if err := o.answer(bufio.NewReaderSize(conn, lineLimit), w); err != nil {
		return fmt.Errorf("--control %s: %w", o.Control, err)
	}
	return nil
}

// answer reads the answer of a control socket: a line, and the trace.
func (o *Options) answer(in *bufio.Reader, w io.Writer) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
		Bytes  int64  `json:"bytes"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch {
	case head.Schema != socketSchema:
		return errors.New("this socket offers neither profiles nor traces: give control.Options the Profile of control/profiles, or use --pprof")
	case strings.Contains(head.Error, "there is no profile"):
		return errors.New("this socket offers no traces: the service needs a newer control/profiles; until then use --pprof")
	case head.Error != "":
		return fmt.Errorf("the service reported: %s", head.Error)
	case head.Bytes < 0 || head.Bytes > o.Largest*mebi:
		return fmt.Errorf("the trace is larger than %d MiB: trace a shorter time, or raise --largest", o.Largest)
	}
	if _, err := io.CopyN(w, in, head.Bytes); err != nil {
		return fmt.Errorf("read the trace: %w", cutOff(err))
	}
	return nil
}
