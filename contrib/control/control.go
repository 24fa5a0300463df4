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

// MaxProfile is the longest time that a profile is asked to cover.
const MaxProfile = time.Minute

// longest is how much of a question is read; the rest is of no interest.
const longest = 64

// ProfileFunc writes the profile of a kind, in the format of pprof, to w. One
// that samples does so for d, or until ctx ends.
type ProfileFunc func(ctx context.Context, w io.Writer, kind string, d time.Duration) error

// Options is what a socket says of its service.
type Options struct {
	Name  string // of the service; empty is the executable's
	Title string // name and version for people; empty is Name

	Profiles []string    // kinds that are offered, as "cpu"; none without Profile
	Profile  ProfileFunc // nil offers none; see package control/profiles
}

// Socket is an open control socket. Its user closes it.
type Socket struct {
	ln      net.Listener
	sampler *sampler
	options Options
	life    context.Context
	end     context.CancelFunc
	served  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
}

// Listen opens a socket at path, replaces one that a killed process left behind,
// and answers on it until [Socket.Close]. A socket that is in use, and a file that
// is no socket, are left alone and are errors. Who may write to the file may ask.
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

func (s *Socket) accept() {
	for {
		conn, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: the service's connections come first.
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
		// What is no number is none: the kinds that need a time refuse 0.
		seconds, _ := strconv.ParseFloat(words[2], 64)
		d = time.Duration(min(max(seconds, 0), MaxProfile.Seconds()) * float64(time.Second))
	}
	return kind, d, true
}

// profile is the answer to a question for one: its head, a line, and its bytes.
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
	if err != nil { // of strings and a number: never
		panic(err)
	}
	return append(append(line, '\n'), body.Bytes()...)
}

// Close removes the socket, ends its clients and what they wait for.
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
