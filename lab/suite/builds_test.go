package suite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/suite/toolchain"
)

// served is a server with one workload. It does without net/http, which another toolchain would
// compile for a minute.
const served = `package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
)

const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

func main() {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go serve(c)
	}
}

func serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err == nil && line == "\r\n" {
			_, err = fmt.Fprint(c, answer)
		}
		if err != nil {
			c.Close()
			return
		}
	}
}
`

// catalogueOfGo returns a catalogue with the subjects mine, in a module that demands a version of
// Go, and other, which is no program of Go.
func catalogueOfGo(t *testing.T, demands string) *Catalogue {
	t.Helper()
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	var files []string
	for name, text := range map[string]string{
		"go.mod": "module example.org/mine\n\ngo " + demands + "\n", "main.go": served,
		"mine.yaml":  "name: mine\nbuild: [go, build, -o, '{bin}', .]\ncommand: ['{bin}', '{addr}']\nurl: http://{addr}\nworkloads: [plaintext]\n",
		"other.yaml": "name: other\ncommand: [sleep, '9']\nurl: http://{addr}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".yaml") {
			files = append(files, file)
		}
	}
	c, err := OpenCatalogue(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	c.kept = kept
	return c
}

func TestUseToolchains(t *testing.T) {
	list := []toolchain.Toolchain{{Asked: "1.25", Name: "go1.25.3", Version: "go1.25.3"}, {Asked: "local", Name: "local", Version: "go1.26.1"}}
	for _, c := range []struct{ subjects, baseline, want, fault string }{
		{"mine", "", "mine@1.25.3", ""},
		{"other,mine", "", "mine@1.25.3", ""},
		{"mine", "local", "mine@1.26.1", ""},
		{"mine", "1.26.1", "mine@1.26.1", ""},
		{"mine", "mine@local", "mine@1.26.1", ""},
		{"mine", "mine@1.25", "mine@1.25.3", ""},
		{"mine", "mine", "mine@1.25.3", ""},
		{"mine,other", "other", "other", ""},
		{"mine", "1.24", "", `unknown baseline "1.24"; known: mine@1.25.3, mine@1.26.1`},
		{"other", "", "", "none of the subjects [other] is built by the command go"},
		{"nobody", "", "", `unknown subject "nobody"`},
	} {
		cfg := Config{Subjects: strings.Split(c.subjects, ","), Baseline: c.baseline, BaselineSet: c.baseline != ""}
		catalogue := catalogueOfGo(t, "1.21")
		err := catalogue.UseToolchains(&cfg, list)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if err != nil {
			continue
		}
		if cfg.Baseline != c.want || !slices.Contains(cfg.Subjects, "mine@1.25.3") || !slices.Contains(cfg.Subjects, "mine@1.26.1") {
			t.Errorf("%+v: baseline %s of %v", c, cfg.Baseline, cfg.Subjects)
		}
		if once := strings.Contains(c.subjects, "other"); once != (len(cfg.Notes) == 1) || once != slices.Contains(cfg.Subjects, "other") {
			t.Errorf("%+v: notes %q", c, cfg.Notes)
		}
		if err := catalogue.Check(cfg); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A builtin subject keeps its abilities under the name of a build, and the floor is built once.
func TestBuildsOfBuiltins(t *testing.T) {
	c := &Catalogue{root: "x"}
	cfg := Config{Subjects: []string{"fasthttp", floorName}}
	if err := c.UseToolchains(&cfg, []toolchain.Toolchain{{Version: "go1.26.1"}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"fasthttp@1.26.1", floorName}; !slices.Equal(cfg.Subjects, want) {
		t.Fatalf("%v, want %v", cfg.Subjects, want)
	}
	s, err := c.find("fasthttp@1.26.1")
	if err != nil {
		t.Fatal(err)
	}
	if !s.speaks(findWorkload("tls")) || s.speaks(findWorkload("h2")) {
		t.Error("fasthttp has TLS and no HTTP/2, whatever builds it")
	}
}

// TestBenchToolchains compares two toolchains, the first of which is too old if old is set.
func TestBenchToolchains(t *testing.T) {
	once(t)
	list, err := toolchain.Resolve(t.Context(), []string{"1.25.0", toolchain.Local})
	if err != nil {
		t.Skip("needs a second toolchain: ", err)
	}
	for _, old := range []bool{false, true} {
		demands := "1.21"
		if old {
			demands = strings.TrimPrefix(strings.Fields(list[1].Version)[0], "go")
		}
		catalogue := catalogueOfGo(t, demands)
		cfg := configOf(t, "mine")
		cfg.Go, cfg.Baseline = list, ""
		if err := catalogue.UseToolchains(&cfg, list); err != nil {
			t.Fatal(err)
		}
		f, err := compareNow(t, t.Context(), cfg, catalogue, nil)
		if f == nil {
			t.Fatal(err)
		}
		if old {
			if s := f.Subjects[0]; s.Name != "mine@1.25.0" || !strings.Contains(s.LeftOut, "go.mod demands Go "+demands) {
				t.Errorf("%+v", s)
			}
			if err == nil || !strings.Contains(err.Error(), "nothing to compare") || len(f.Notes) != 2 {
				t.Errorf("%v, notes %q", err, f.Notes)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"go1.25.0", "go1.25.0", list[1].Version} {
			if s := f.Subjects[i]; s.Build == nil || s.Build.Toolchain != want {
				t.Errorf("%s: %+v, want %s", s.Name, s.Build, want)
			}
		}
		for _, r := range f.Runs {
			if r.Failed != "" || r.Collector == nil || r.Collector.Absent != "" || r.Collector.StoppedUsPerSecond == nil {
				t.Errorf("%s: %s, %+v", r.ID, r.Failed, r.Collector)
			}
		}
	}
}

// The baseline that the user has named is not replaced.
func TestNamedBaselineTooOld(t *testing.T) {
	catalogue := catalogueOfGo(t, "1.999")
	own, err := toolchain.Resolve(t.Context(), []string{toolchain.Local})
	if err != nil {
		t.Fatal(err)
	}
	cfg := configOf(t, "mine")
	cfg.Go, cfg.Baseline, cfg.BaselineSet = own, toolchain.Local, true
	if err := catalogue.UseToolchains(&cfg, own); err != nil {
		t.Fatal(err)
	}
	_, err = compareNow(t, t.Context(), cfg, catalogue, nil)
	var old *toolchain.TooOldError
	if !errors.As(err, &old) || !strings.Contains(err.Error(), "the baseline cannot be built") {
		t.Error(err)
	}
}
