package zoo

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed species/*/species.yaml foreign
var files embed.FS

// A Species is one service of the zoo, with its two variants.
type Species struct {
	Name string `yaml:"-"` // of its directory
	Port int    `yaml:"-"` // on which the server listens; 0: any

	Cause string   `yaml:"cause"` // the planted cause, by its stable id: what is to be named first
	With  []string `yaml:"with"`  // further planted causes, of a species with more than one
	Also  []string `yaml:"also"`  // ids that may be reported as well, because they follow from the cause

	Does  string `yaml:"does"`  // what the service is
	Fault string `yaml:"fault"` // what is wrong with it
	Twin  string `yaml:"twin"`  // what the twin does instead

	Requests    []Request `yaml:"requests"`    // the load; at least one
	Connections int       `yaml:"connections"` // of the load, a closed loop unless Rate is set
	Rate        float64   `yaml:"rate"`        // requests per second of an open loop; 0: a closed loop
	// PerConnection is the number of requests after which a client connects anew; 0: never.
	PerConnection int  `yaml:"per_connection"`
	TLS           bool `yaml:"tls"` // clients use TLS, and resume sessions if the server lets them

	// Command is the program and arguments of a species below foreign, which are files of it or
	// literal. TwinCommand is that of the twin; without it the twin is chosen by ZOO_TWIN.
	Command     []string `yaml:"command"`
	TwinCommand []string `yaml:"twin_command"`

	Needs   Needs    `yaml:"needs"`
	Backend *Backend `yaml:"backend"` // nil: it has none
	PProf   Profiler `yaml:"pprof"`

	Measured Measured `yaml:"measured"`
}

// A Request is one kind of request of the load. Values vary only where the service itself
// chooses them.
type Request struct {
	Method   string            `yaml:"method"` // empty: GET, or POST with a body
	Path     string            `yaml:"path"`   // with the query
	Headers  map[string]string `yaml:"headers"`
	Body     string            `yaml:"body"`
	BodySize int               `yaml:"body_size"` // bytes of a generated body; 0: Body is sent
	Weight   int               `yaml:"weight"`    // relative to the other requests; 0: 1
	Status   int               `yaml:"status"`    // of the right answer; 0: 200
}

// Needs is what the processes of a species have to be given. The zero value needs nothing.
type Needs struct {
	CPUs   int     `yaml:"cpus"`   // the server is pinned to as many of the process' CPUs; 0: all
	Quota  float64 `yaml:"quota"`  // CPUs that a cgroup limits the server to; 0: no limit
	Memory int64   `yaml:"memory"` // bytes that a cgroup limits the server to; 0: no limit
	// TwinQuota and TwinMemory are the limits of the twin; 0: those of the species.
	TwinQuota  float64           `yaml:"twin_quota"`
	TwinMemory int64             `yaml:"twin_memory"`
	Env        map[string]string `yaml:"env"` // both variants
	// SickEnv and TwinEnv are for one variant.
	SickEnv map[string]string `yaml:"sick_env"`
	TwinEnv map[string]string `yaml:"twin_env"`
}

// A Backend is a process that the server depends on. It starts first, and its address is in
// the server's environment as BACKEND.
type Backend struct {
	Name    string            `yaml:"name"` // of a directory below backends
	Env     map[string]string `yaml:"env"`
	TwinEnv map[string]string `yaml:"twin_env"` // of the twin's backend, in addition to Env
}

// A Profiler is where a server has net/http/pprof.
type Profiler string

// The places of net/http/pprof.
const (
	None  Profiler = ""      // the server does not have it
	Same  Profiler = "same"  // below /debug/pprof/ of its own address
	Admin Profiler = "admin" // on a second port, which it prints as "admin on ADDR"
)

// Measured is what `redline load` measured with the species and its twin: an approximate
// figure that says how sick the service is, not one to be reproduced.
type Measured struct {
	Figure string  `yaml:"figure"` // cpu (microseconds of the server per request), latency (mean, milliseconds), rate (requests per second) or growth
	Sick   float64 `yaml:"sick"`
	Twin   float64 `yaml:"twin"`
	Ratio  float64 `yaml:"ratio"` // how many times better the twin is
}

// All returns the species, sorted by name. It panics if one of the embedded descriptions is
// wrong, which the tests of the package rule out.
func All() []Species {
	names, err := fs.Glob(files, "*/*/species.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var all []Species
	for _, name := range names {
		s, err := read(name)
		if err != nil {
			panic(fmt.Errorf("zoo: %w", err))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Species) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// read reads and checks one description.
func read(name string) (Species, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return Species{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	s := Species{Name: path.Base(path.Dir(name))}
	if err := decoder.Decode(&s); err != nil {
		return Species{}, fmt.Errorf("read %s: %w", name, err)
	}
	if err := s.check(); err != nil {
		return Species{}, fmt.Errorf("read %s: %w", name, err)
	}
	if (len(s.Command) > 0) != (path.Dir(path.Dir(name)) == foreign) {
		return Species{}, fmt.Errorf("read %s: species below foreign have a command, and no others", name)
	}
	for i := range s.Requests {
		s.Requests[i].complete()
	}
	return s, nil
}

func (s *Species) check() error {
	switch {
	case s.Cause == "" || s.Does == "" || s.Fault == "" || s.Twin == "":
		return fmt.Errorf("cause, does, fault and twin are required")
	case len(s.Requests) == 0 || s.Connections <= 0:
		return fmt.Errorf("requests and connections are required")
	case s.PProf != None && s.PProf != Same && s.PProf != Admin:
		return fmt.Errorf("pprof is %q: write same or admin, or leave it out", s.PProf)
	case len(s.Command) > 0 && (s.Needs.Quota > 0 || s.Needs.Memory > 0):
		return fmt.Errorf("a species with a command runs without limits of a cgroup")
	case s.Rate < 0 || s.PerConnection < 0:
		return fmt.Errorf("rate or per_connection is negative")
	case s.Needs.CPUs < 0 || s.Needs.Quota < 0 || s.Needs.Memory < 0 || s.Needs.TwinQuota < 0 || s.Needs.TwinMemory < 0:
		return fmt.Errorf("needs has a negative number")
	}
	for _, id := range append(append([]string{s.Cause}, s.With...), s.Also...) {
		if !known(id) {
			return fmt.Errorf("%q is not the id of a cause: see Causes", id)
		}
	}
	for _, r := range s.Requests {
		if !strings.HasPrefix(r.Path, "/") {
			return fmt.Errorf("path %q does not begin with /", r.Path)
		}
	}
	return nil
}

// complete fills in what a description may leave out.
func (r *Request) complete() {
	if r.BodySize > 0 {
		r.Body = strings.Repeat("abcdefghijklmnopqrstuvwxyz012345", r.BodySize/32+1)[:r.BodySize]
	}
	if r.Method == "" {
		r.Method = "GET"
		if r.Body != "" {
			r.Method = "POST"
		}
	}
	if r.Status == 0 {
		r.Status = 200
	}
	r.Weight = max(r.Weight, 1)
}
