package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/suite/toolchain"
)

// The roles of a subject in a comparison.
const (
	roleSubject  = "subject"
	roleBaseline = "baseline"
	roleTwin     = "twin"
	roleFloor    = "floor"
)

// floorName is the subject that sends a fixed response without parsing the request:
// the practical minimum of the cost.
const floorName = "limit"

// builtin lists the subjects of module peers in the order of the reports: first those
// that are compared by default.
var builtin = []string{
	"nethttp", "redline", "fasthttp", "gin", "chi", "echo", "hertz", "fiber", floorName,
	"redline-nethttp", "redline-chi", "redline-gin", "redline-echo",
	"redline-epoll", "redline-uring", "redline-std", centrifugeName,
}

// compared is the number of builtin subjects that are compared by default.
const compared = 9

// A Subject is a server under test: one of module peers, or a command that a file
// describes.
type Subject struct {
	Name      string            `yaml:"name"`
	Title     string            `yaml:"title"`
	Version   []string          `yaml:"version"`   // prints the version; optional
	Debian    []string          `yaml:"debian"`    // packages that contain the command
	Tools     []string          `yaml:"tools"`     // commands that the build needs; without them the subject is left out
	Build     []string          `yaml:"build"`     // builds the server as {bin}, once, in the file's directory; optional
	Command   []string          `yaml:"command"`   // stays in the foreground; placeholders are replaced
	Files     map[string]string `yaml:"files"`     // written into {dir} before the start
	URL       string            `yaml:"url"`       // of the service: http://{addr} or https://{addr}, and a prefix of the workloads' paths
	Workloads []string          `yaml:"workloads"` // that it serves; empty: all

	role    string
	control bool   // has a control socket
	here    string // directory of its file
	bin     string // output of Build; set by prepare

	of   string               // name of the subject that this is a build of; empty: itself
	with *toolchain.Toolchain // that it is built with; nil: the command go as it is
}

// source returns the name by which the catalogue knows the subject.
func (s *Subject) source() string { return cmp.Or(s.of, s.Name) }

// label returns the subject's name in results, which is unique: the twin has a suffix.
func (s *Subject) label() string {
	if s.role == roleTwin {
		return s.Name + "@twin"
	}
	return s.Name
}

func (s *Subject) serves(w *workload) bool {
	switch {
	case s.control && w.push != nil:
		return slices.Contains(pushing, s.source())
	case s.control && w.feed != nil && !slices.Contains(feeding, s.source()):
		return false
	case s.control && s.Name == floorName:
		return w.floor
	case s.control && s.source() == centrifugeName:
		return false
	case !s.speaks(w):
		return false
	}
	return len(s.Workloads) == 0 || slices.Contains(s.Workloads, w.name) || w.family != "" && slices.Contains(s.Workloads, w.family)
}

func (s *Subject) describe() results.Subject {
	kind := "external"
	if s.control {
		kind = "go"
	}
	command := slices.Clone(s.Command)
	if len(command) > 0 {
		command[0] = filepath.Base(command[0])
	}
	out := results.Subject{Name: s.label(), Title: s.Title, Kind: kind, Role: s.role, Command: command}
	if t := s.with; t != nil {
		out.Build = &results.Build{Asked: t.Asked, Toolchain: t.Version, Flags: redact.Text(t.Flags)}
	}
	return out
}

// UnknownError reports an unknown name.
type UnknownError struct {
	What, Name string
	Known      []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q; known: %s", e.What, e.Name, strings.Join(e.Known, ", "))
}

// A Catalogue finds subjects by name.
type Catalogue struct {
	root     string // of the checkout; empty outside a checkout
	external map[string]*Subject
	builds   map[string]build // that UseToolchains has added, by name
	kept     toolchain.Cache  // of what was built before
}

// OpenCatalogue reads the subjects of the checkout that contains dir, if there is one,
// and those described in files.
func OpenCatalogue(dir string, files []string) (*Catalogue, error) {
	c := &Catalogue{root: checkout(dir), external: map[string]*Subject{}, kept: toolchain.UserCache()}
	if c.root != "" {
		for _, pattern := range []string{"foreign/*/*.yaml", "external/*.yaml"} {
			own, err := filepath.Glob(filepath.Join(c.root, "peers", pattern))
			if err != nil {
				return nil, fmt.Errorf("list external subjects: %w", err)
			}
			files = append(own, files...)
		}
	}
	for _, f := range files {
		s, err := readSubject(f)
		if err != nil {
			return nil, fmt.Errorf("subject file %s: %w; %s", f, err, formatHint)
		}
		if slices.Contains(builtin, s.Name) {
			return nil, fmt.Errorf("subject file %s: a built-in subject has the name %q: use another", f, s.Name)
		}
		c.external[s.Name] = s
	}
	return c, nil
}

// formatHint refers to the description of subject files.
const formatHint = "docs/subjects.md describes the format"

// checkout returns the nearest directory at or above dir that holds the module
// peers, or "".
func checkout(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "peers", "nethttp", "main.go")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func readSubject(file string) (*Subject, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Subject{role: roleSubject}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(s); errors.Is(err, io.EOF) {
		return nil, errors.New("file is empty: write at least name, command and url")
	} else if err != nil {
		return nil, err
	}
	if s.Title == "" {
		s.Title = s.Name
	}
	if s.here, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return nil, err
	}
	return s, s.check()
}

var subjectName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Placeholders in a subject's command, files and URL: see server.place.
var (
	placeholder  = regexp.MustCompile(`\{[a-z]+\}`)
	placeholders = []string{"{addr}", "{host}", "{port}", "{dir}", "{here}", "{bin}", "{cpus}", "{cert}", "{key}", "{redis}", "{postgres}", "{wait}", "{fanout}"}
)

func (s *Subject) check() error {
	switch {
	case !subjectName.MatchString(s.Name):
		return fmt.Errorf("name %q: use lower-case letters, digits, dots and dashes", s.Name)
	case len(s.Command) == 0:
		return errors.New("command is missing: the argument list that starts the server in the foreground")
	case !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return fmt.Errorf("url %q: want http://{addr}, https://{addr}, http://127.0.0.1:PORT or https://127.0.0.1:PORT", s.URL)
	case strings.HasPrefix(s.URL, "https://") && !s.takesCertificate():
		return errors.New("url is https, and neither command nor files contain {cert}: the server has to use the certificate in {cert}, with the key in {key}")
	case strings.Contains(s.Command[0], "/") && !filepath.IsAbs(s.Command[0]) && !strings.HasPrefix(s.Command[0], "{"):
		return fmt.Errorf("command %q is relative: write {here}/%s for a path relative to the subject file", s.Command[0], filepath.Clean(s.Command[0]))
	}
	if err := checkPlaceholders(append(slices.Clone(s.Command), s.URL), placeholders); err != nil {
		return err
	}
	if err := checkPlaceholders(s.Build, []string{"{here}", "{bin}"}); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if len(s.Build) == 0 && slices.ContainsFunc(s.Command, func(a string) bool { return strings.Contains(a, "{bin}") }) {
		return errors.New("command contains {bin}, and there is no build: write build")
	}
	for name := range s.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("file %q is outside the subject's directory: write a relative path", name)
		}
	}
	for _, w := range s.Workloads {
		load := findWorkload(w)
		switch {
		case load == nil && !slices.Contains(families, w):
			return &UnknownError{What: "workload", Name: w, Known: append(known(), families...)}
		case load != nil && !s.speaks(load):
			return fmt.Errorf("workload %s: a server with TLS has {cert} and {key} in its command or files, and one with an https url has only TLS", w)
		}
	}
	return nil
}

// checkPlaceholders checks that texts contain no placeholder except known ones.
func checkPlaceholders(texts, known []string) error {
	for _, text := range texts {
		for _, p := range placeholder.FindAllString(text, -1) {
			if !slices.Contains(known, p) {
				return fmt.Errorf("%q has the unknown placeholder %s: write one of %s", text, p, strings.Join(known, ", "))
			}
		}
	}
	return nil
}

// Names returns the names of all known subjects.
func (c *Catalogue) Names() []string {
	var names []string
	if c.root != "" {
		names = slices.Clone(builtin)
	}
	return append(names, slices.Sorted(maps.Keys(c.external))...)
}

// Builtin returns the names of the subjects that are compared by default.
func Builtin() []string { return slices.Clone(builtin[:compared]) }

// find returns the subject with that name, not yet built.
func (c *Catalogue) find(name string) (*Subject, error) {
	if b, ok := c.builds[name]; ok {
		return c.findBuild(name, b)
	}
	if s, ok := c.external[name]; ok {
		return s, nil
	}
	if c.root != "" && slices.Contains(builtin, name) {
		return &Subject{Name: name, Title: name, URL: "http://{addr}", control: true, role: roleSubject}, nil
	}
	err := &UnknownError{What: "subject", Name: name, Known: c.Names()}
	if c.root == "" && slices.Contains(builtin, name) {
		return nil, fmt.Errorf("subject %q is built from a checkout of Redline: run the command inside one (%w)", name, err)
	}
	return nil, err
}

// prepare makes the subject ready to start: it builds it into dir if it is built from
// source, checks that its command exists, and reads its version.
func (c *Catalogue) prepare(ctx context.Context, s *Subject, dir string) error {
	if s.control {
		s.bin = filepath.Join(dir, s.Name)
		if err := s.compile(ctx, c.kept, c.root, []string{"go", "build", "-o", "{bin}", "./peers/" + s.source()}); err != nil {
			return fmt.Errorf("build %s: %w", s.Name, err)
		}
		s.Command = []string{s.bin, "--addr", "{addr}", "--control", "{dir}/control", "--redis", "{redis}", "--postgres", "{postgres}", "--wait", "{wait}", "--fanout", "{fanout}"}
		if !slices.Contains(withoutTLS, s.source()) {
			s.Command = append(s.Command, "--cert", "{cert}", "--key", "{key}")
		}
		return nil
	}
	if err := s.build(ctx, c.kept, dir); err != nil {
		return fmt.Errorf("build %s: %w", s.Name, err)
	}
	if err := s.look(s.fixed().Replace(s.Command[0])); err != nil {
		return fmt.Errorf("subject %s: %w", s.Name, err)
	}
	if len(s.Version) > 0 {
		if err := s.look(s.Version[0]); err != nil {
			return fmt.Errorf("subject %s: %w", s.Name, err)
		}
		cmd := exec.CommandContext(ctx, s.Version[0], s.Version[1:]...)
		if s.with != nil {
			cmd.Env = s.with.Environ() // the version may be that of Go
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("subject %s: read its version: %w", s.Name, err)
		}
		if v := versionNumber.Find(out); v != nil && !strings.Contains(s.Title, string(v)) {
			s.Title += " " + string(v)
		}
	}
	return nil
}

// fixed returns a replacer for the placeholders that are the same in every run.
func (s *Subject) fixed() *strings.Replacer {
	return strings.NewReplacer("{here}", s.here, "{bin}", s.bin)
}

// look checks that a command is installed.
func (s *Subject) look(command string) error {
	_, err := exec.LookPath(command)
	if err != nil && len(s.Debian) > 0 {
		err = fmt.Errorf("%w; on Debian: apt-get install %s", err, strings.Join(s.Debian, " "))
	}
	return err
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// Build prepares a subject's executable and returns its path. Executables that are built
// from source are in dir.
func (c *Catalogue) Build(ctx context.Context, name, dir string) (string, error) {
	s, err := c.find(name)
	if err != nil {
		return "", err
	}
	if err := c.prepare(ctx, s, dir); err != nil {
		return "", err
	}
	return s.Command[0], nil
}
