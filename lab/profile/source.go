package profile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	answerTime = 15 * time.Second // timeout of a response, in addition to the time that it covers
	largest    = 256 << 20        // limit on a profile, in bytes
	headLimit  = 4 << 10
	schema     = "redline.profile/1" // of the line before a profile on a control socket
)

// errLarge is the error for a profile that exceeds the limit.
var errLarge = fmt.Errorf("more than %d MiB", largest>>20)

// Source takes profiles.
type Source interface {
	// Take takes a profile. A lasting kind covers d, a whole number of seconds; others are
	// taken immediately. The end of ctx ends the wait.
	Take(ctx context.Context, k Kind, d time.Duration) ([]byte, error)
}

// URL takes profiles from the handlers of net/http/pprof. Its value is their URL, without a
// slash at the end.
type URL string

// Ready checks in advance whether the service records contention of mutexes. Its error says
// how to enable that.
func (u URL) Ready(ctx context.Context, list []Kind) error {
	if !slices.Contains(list, "mutex") {
		return nil
	}
	page, err := u.get(ctx, "mutex?debug=1", answerTime)
	if err == nil && bytes.Contains(page, []byte("\nsampling period=0\n")) {
		err = errors.New("the service does not record mutex contention: leave out mutex, or call runtime.SetMutexProfileFraction(10) in the service")
	}
	return err
}

// Take requests the profile from the handler of the kind.
func (u URL) Take(ctx context.Context, k Kind, d time.Duration) ([]byte, error) {
	page := string(k)
	if k == CPU {
		page = "profile"
	}
	if k.Lasting() {
		page += "?seconds=" + strconv.Itoa(int(d/time.Second))
	}
	return u.get(ctx, page, d+answerTime)
}

// get reads one page.
func (u URL) get(ctx context.Context, page string, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page = string(u) + "/" + page
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", page, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 200)) // the server's error message
		return nil, fmt.Errorf("get %s: status %d: %s", page, answer.StatusCode, strings.Join(strings.Fields(string(said)), " "))
	}
	data, err := readAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", page, err)
	}
	return data, nil
}

// readAll reads a profile of unknown length, up to the limit.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, largest+1))
	if err == nil && len(data) > largest {
		err = errLarge
	}
	return data, err
}

// Socket takes profiles from a control socket. Its value is the socket's path.
type Socket string

// Take requests a profile once or, for a lasting kind that the runtime counts since the
// process began, at both ends of d to return the difference.
func (s Socket) Take(ctx context.Context, k Kind, d time.Duration) ([]byte, error) {
	if !k.Lasting() || k == CPU {
		return s.ask(ctx, k, d)
	}
	before, err := s.ask(ctx, k, 0)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	after, err := s.ask(ctx, k, d)
	if err != nil {
		return nil, err
	}
	// A socket may record for d or reply immediately.
	if rest := d - time.Since(begun); rest > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(rest):
		}
		if after, err = s.ask(ctx, k, 0); err != nil {
			return nil, err
		}
	}
	return difference(before, after)
}

// ask makes one exchange on a new connection.
func (s Socket) ask(ctx context.Context, k Kind, d time.Duration) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, d+answerTime)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", string(s))
	if err != nil {
		return nil, fmt.Errorf("dial control socket: %w", err)
	}
	defer func() {
		if closed := conn.Close(); ctx.Err() != nil {
			err = errors.Join(err, ctx.Err())
		} else if err == nil {
			err = closed
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "profile %s %g\n", k, d.Seconds()); err != nil {
		return nil, fmt.Errorf("ask for profile %s: %w", k, err)
	}
	if data, err = readProfile(bufio.NewReaderSize(conn, headLimit)); err != nil {
		return nil, fmt.Errorf("read profile %s: %w", k, err)
	}
	return data, nil
}

// readProfile reads a reply: a line, and as many bytes as it announces.
func readProfile(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema string `json:"schema"`
		Bytes  int64  `json:"bytes"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Schema != schema:
		return nil, fmt.Errorf("schema %q, want %q: this socket offers no profiles", head.Schema, schema)
	case head.Error != "":
		return nil, fmt.Errorf("the service reported: %s", head.Error)
	case head.Bytes < 0 || head.Bytes > largest:
		return nil, errLarge
	}
	var data bytes.Buffer // grows with the received data, not to the announced size
	if _, err := io.CopyN(&data, in, head.Bytes); err != nil {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return data.Bytes(), nil
}
