package imports

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Credentials says what happens to header fields that give access: Authorization, Cookie, and
// similar ones.
type Credentials string

const (
	Keep     Credentials = "keep"      // they stay where they are
	Variable Credentials = "variables" // their values are variables, at the top of the file
	Drop     Credentials = "drop"      // they are left out
)

// Settings are the choices that apply to every source.
type Settings struct {
	Host        string // host or host:port of the requests to keep; empty: that of the first request
	Credentials Credentials
}

// secrets are the names of header fields that give access.
var secrets = []string{
	"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey",
	"x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token",
}

// Finish keeps the requests to one server, applies the settings, and moves what all requests
// share to the top. It is called once, before [Scenario.YAML]. The error says what to do.
func (s *Scenario) Finish(o Settings) error {
	if err := s.oneServer(o.Host); err != nil {
		return err
	}
	if len(s.Requests) == 0 {
		return fmt.Errorf("the source contains no request to import%s", s.reasons())
	}
	s.pauses()
	s.credentials(o.Credentials)
	s.share()
	s.names()
	return nil
}

// reasons returns the notes, for an error about an empty scenario.
func (s *Scenario) reasons() string {
	if len(s.Notes) == 0 {
		return "; name a file with at least one"
	}
	return ": " + strings.Join(s.Notes, "; ")
}

// oneServer removes requests to other servers, which a scenario cannot load, and makes the
// URLs paths.
func (s *Scenario) oneServer(host string) error {
	chosen, others := "", map[string]int{}
	var names []string
	for i := range s.Requests {
		origin, _ := cutOrigin(s.Requests[i].URL)
		if origin == "" {
			continue
		}
		if chosen == "" && (host == "" || matches(origin, host)) {
			chosen = origin
		}
		if others[origin]++; others[origin] == 1 {
			names = append(names, origin)
		}
	}
	if host != "" && chosen == "" && len(names) > 0 {
		return fmt.Errorf("--host %s: no request goes there; the hosts are %s", host, strings.Join(names[:min(len(names), 10)], ", "))
	}
	s.Requests = slices.DeleteFunc(s.Requests, func(r Request) bool {
		origin, _ := cutOrigin(r.URL)
		return origin != "" && origin != chosen
	})
	for _, name := range names {
		if name != chosen {
			s.note("%s to %s left out: a scenario loads one server; --host chooses another", count(others[name], "request"), name)
		}
	}
	if chosen == "" {
		return nil
	}
	for i := range s.Requests {
		_, s.Requests[i].URL = cutOrigin(s.Requests[i].URL)
	}
	s.Base = chosen
	return nil
}

// maxPause is the longest think time that a scenario allows.
const maxPause = 24 * time.Hour

// pauses sets the think times of a recording: how long nothing was asked of the server or
// waited for.
func (s *Scenario) pauses() {
	var end time.Time // of the answers so far
	for i := range s.Requests {
		r := &s.Requests[i]
		if i > 0 && !end.IsZero() && !r.sent.IsZero() {
			pause := max(r.sent.Sub(end).Round(time.Millisecond), 0)
			if pause > maxPause {
				s.note("a pause of %v is shortened to %v", pause, maxPause)
				pause = maxPause
			}
			s.Requests[i-1].Think = pause
		}
		if r.done.After(end) {
			end = r.done
		}
	}
}

// Relocate rewrites the names of files that bodies are taken from: they are relative to from,
// and become relative to to, the directory of the scenario.
func (s *Scenario) Relocate(from, to string) error {
	for i := range s.Requests {
		b := s.Requests[i].Body
		if b == nil || b.File == "" || filepath.IsAbs(b.File) {
			continue
		}
		name, err := filepath.Abs(filepath.Join(from, b.File))
		if err != nil {
			return fmt.Errorf("locate %s: %w", b.File, err)
		}
		dir, err := filepath.Abs(to)
		if err != nil {
			return fmt.Errorf("locate %s: %w", to, err)
		}
		if b.File, err = filepath.Rel(dir, name); err != nil {
			return fmt.Errorf("locate %s: %w", name, err)
		}
	}
	return nil
}

// matches reports whether an origin has the host, with or without its port.
func matches(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), host))
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// credentials applies the choice about fields that give access, and notes where they are.
func (s *Scenario) credentials(choice Credentials) {
	var found []string
	for i := range s.Requests {
		r := &s.Requests[i]
		kept := r.Header[:0]
		for _, f := range r.Header {
			name := strings.ToLower(f.Name)
			if !slices.Contains(secrets, name) {
				kept = append(kept, f)
				continue
			}
			if !slices.Contains(found, f.Name) {
				found = append(found, f.Name)
			}
			if choice == Variable {
				f.Value = s.variable(name, f.Value)
			}
			if choice != Drop {
				kept = append(kept, f)
			}
		}
		r.Header = kept
	}
	switch {
	case len(found) == 0:
	case choice == Drop:
		s.note("credentials are left out: %s; give them to redline load with -H", strings.Join(found, ", "))
	case choice == Variable:
		s.note("the file contains credentials: the values under variables, for %s", strings.Join(found, ", "))
	default:
		s.note("the file contains credentials in %s: --credentials drop leaves them out, and redline load -H adds them to every request; --credentials variables puts them at the top of the file", strings.Join(found, ", "))
	}
	for i := range s.Requests {
		if name := secretParameter(s.Requests[i].URL); name != "" {
			s.note("the URLs contain credentials in the parameter %s, which is kept", name)
		}
	}
}

// secretParameter returns the name of a parameter of a URL that probably gives access.
func secretParameter(u string) string {
	_, query, _ := strings.Cut(u, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		switch strings.ToLower(name) {
		case "access_token", "token", "api_key", "apikey", "password", "secret", "x-amz-signature":
			if value != "" {
				return name
			}
		}
	}
	return ""
}

// reference marks a value as a reference to a variable; no header field contains NUL.
const reference = "\x00"

// variable returns a reference to the variable with that value, which it declares if necessary.
func (s *Scenario) variable(name, value string) string {
	n := 1
	for _, v := range s.variables {
		if v.Value == value && strings.HasPrefix(v.Name, name) {
			return reference + v.Name
		}
		if v.Name == name || strings.HasPrefix(v.Name, name+"-") {
			n++
		}
	}
	if n > 1 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	s.variables = append(s.variables, Field{name, value})
	return reference + name
}

// share moves the header fields that all requests have in common to the defaults.
func (s *Scenario) share() {
	if len(s.Requests) < 2 {
		return
	}
	for _, f := range slices.Clone(s.Requests[0].Header) {
		if strings.EqualFold(f.Name, "content-type") {
			continue // belongs to the body
		}
		common := !slices.ContainsFunc(s.Requests, func(r Request) bool {
			value, _ := r.get(f.Name)
			n := 0
			for _, g := range r.Header {
				if strings.EqualFold(f.Name, g.Name) {
					n++
				}
			}
			return n != 1 || value != f.Value
		})
		if !common {
			continue
		}
		s.defaults = append(s.defaults, f)
		for i := range s.Requests {
			s.Requests[i].remove(f.Name)
		}
	}
}

// names gives requests unique names where their method and URL are not.
func (s *Scenario) names() {
	used := map[string]int{}
	taken := func(name string) bool { return used[name] > 0 }
	for i := range s.Requests {
		r := &s.Requests[i]
		name := r.Name
		if name == "" {
			name = r.Method + " " + r.URL
		}
		if n := used[name]; n > 0 {
			unique := name
			for taken(unique) {
				n++
				unique = fmt.Sprintf("%s (%d)", name, n)
			}
			used[name] = n
			r.Name, name = unique, unique
		}
		used[name]++
	}
}
