package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ProfileSchema is the value of "schema" in the line before a profile.
const ProfileSchema = "redline.profile/1"

// MaxProfile is the longest time that a profile may cover.
const MaxProfile = time.Minute

// longest is how much of a question is read; the rest is ignored.
const longest = 64

// ProfileFunc writes the profile of a kind to w, in pprof format. A profile that samples
// does so for d, or until ctx ends.
type ProfileFunc func(ctx context.Context, w io.Writer, kind string, d time.Duration) error

// Options describes the service of a socket.
type Options struct {
	Name  string // of the service; if empty, that of the executable
	Title string // name and version for people; if empty, Name

	Profiles []string    // kinds that are offered, as "cpu"; none without Profile
	Profile  ProfileFunc // nil offers none; see package control/profiles
}

// Socket is an open control socket. The caller has to close it.
type Socket struct {
	ln      net.Listener
	sampler *sampler
	options Options
	life    context.Context
	end     context.CancelFunc
	served  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil after Close
}

// Listen opens a socket at path, replaces one left behind by a killed process, and answers
// on it until [Socket.Close]. If the socket is in use, or the file is not a socket, Listen
// leaves it alone and returns an error. Any process with write permission for the file may
// query the service.
func Listen(path string, options Options) (*Socket, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	if options.Profile == nil {
		options.Profiles = nil
	}
	s := &Socket{ln: ln, sampler: newSampler(options), options: options, conns: make(map[net.Conn]struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	s.served.Go(s.accept)
	return s, nil
}

// removeStale removes a socket left behind by a killed process. A socket that still
// answers, and a file that is not a socket, are left alone.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open control socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("open control socket: %s exists and is not a socket", path)
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

func (s *Socket) accept() {
	for {
		conn, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Most likely there are no free descriptors: the service's connections come
			// first.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		if s.conns == nil {
			conn.Close()
		} else {
			s.conns[conn] = struct{}{}
			s.served.Go(func() { s.serve(conn) })
		}
		s.mu.Unlock()
	}
}

func (s *Socket) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	in := bufio.NewReaderSize(conn, longest)
	question, answer := make([]byte, 0, longest), make([]byte, 0, 4096)
	for {
		char, err := in.ReadByte()
		if err != nil {
			return
		}
		if char != '\n' {
			if len(question) < longest {
				question = append(question, char)
			}
			continue
		}
		kind, d, ok := parseProfile(question)
		if answer, question = answer[:0], question[:0]; ok {
			answer = s.profile(kind, d)
		} else {
			answer = s.sampler.appendLine(answer)
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// parseProfile reads "profile KIND SECONDS". Everything else asks for a snapshot.
func parseProfile(question []byte) (kind string, d time.Duration, ok bool) {
	if !bytes.HasPrefix(question, []byte("profile ")) {
		return "", 0, false
	}
	words := strings.Fields(string(question))
	if len(words) > 1 {
		kind = words[1]
	}
	if len(words) > 2 {
		// Text that is not a number counts as 0, which the kinds that need a time refuse.
		seconds, _ := strconv.ParseFloat(words[2], 64)
		d = time.Duration(min(max(seconds, 0), MaxProfile.Seconds()) * float64(time.Second))
	}
	return kind, d, true
}

// profile is the answer to a profile question: a line, and the bytes of the profile.
func (s *Socket) profile(kind string, d time.Duration) []byte {
	head := struct {
		Schema  string `json:"schema"`
		Profile string `json:"profile"`
		Bytes   int    `json:"bytes"`
		Error   string `json:"error,omitempty"`
	}{Schema: ProfileSchema, Profile: kind}
	var body bytes.Buffer
	if s.options.Profile == nil {
		head.Error = "this service offers no profiles"
	} else if err := s.options.Profile(s.life, &body, kind, d); err != nil {
		head.Error = err.Error()
		body.Reset()
	}
	head.Bytes = body.Len()
	line, err := json.Marshal(head)
	if err != nil { // cannot happen for strings and a number
		panic(err)
	}
	return append(append(line, '\n'), body.Bytes()...)
}

// Close removes the socket, closes its clients and ends what they wait for.
func (s *Socket) Close() error {
	err := s.ln.Close() // unlinks the file
	s.end()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.served.Wait()
	if err != nil {
		return fmt.Errorf("close control socket: %w", err)
	}
	return nil
}
