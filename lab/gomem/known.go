package gomem

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// layouts.json has what a binary without debugging information or symbols does not tell. It is
// written by `make layouts`, from binaries that the toolchains build.
//
//go:embed layouts.json
var layoutsJSON []byte

// A release is what is known of the runtime of some patch releases of Go, which do not differ.
type release struct {
	First   string           `json:"first"` // "go1.23.0"
	Last    string           `json:"last"`  // later patches of a minor version are expected to be the same
	Reasons []string         `json:"reasons"`
	Arch    map[string]*port `json:"arch"` // by GOARCH
}

// A port is a release on one architecture.
type port struct {
	Fields layout `json:"fields"`
	// Sizes are those of the variables in bytes, which a symbol table tells too.
	Sizes map[string]uint64 `json:"sizes"`
	// Witnesses are functions that use a variable, and the offset within the variable, for each
	// of the variables.
	Witnesses map[string][]witness `json:"witnesses"`
}

// releases decodes the table.
var releases = sync.OnceValues(func() ([]*release, error) {
	var m []*release
	if err := json.Unmarshal(layoutsJSON, &m); err != nil {
		return nil, fmt.Errorf("decode layouts.json: %w", err)
	}
	return m, nil
})

// parse splits the version of a released toolchain without experiments: 26 and 8 of "go1.26.8".
func parse(version string) (minor, patch int, ok bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0, 0, false
	}
	first, second, dot := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	if dot {
		patch, err = strconv.Atoi(second)
	}
	return minor, patch, err == nil
}

// find returns the row for a version: of those of its minor version, the last that does not
// begin after it; nil if there is none.
func find(all []*release, version string) *release {
	minor, patch, ok := parse(version)
	var best *release
	for _, r := range all {
		if m, p, _ := parse(r.First); ok && m == minor && p <= patch {
			best = r // the table is sorted
		}
	}
	return best
}

// knownPort finds the row of the table that fits a binary.
func knownPort(im *image) (*release, *port, error) {
	all, err := releases()
	if err != nil {
		return nil, nil, err
	}
	if _, _, ok := parse(im.version); !ok {
		return nil, nil, fmt.Errorf("%w: %q is not a released toolchain without experiments: build without -s and -w", ErrLayout, im.version)
	}
	if x := im.tags["GOEXPERIMENT"]; x != "" {
		return nil, nil, fmt.Errorf("%w: built with GOEXPERIMENT=%s: build without -s and -w", ErrLayout, x)
	}
	r := find(all, im.version)
	if r == nil {
		return nil, nil, fmt.Errorf("%w: %s is not in the table of versions: build without -s and -w", ErrLayout, im.version)
	}
	p, ok := r.Arch[im.arch]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s on %s is not in the table of versions: build without -s and -w", ErrLayout, im.version, im.arch)
	}
	return r, p, nil
}

// knownLayout returns the layout that the toolchain of a binary gives to the runtime, and
// which toolchains it was taken from. Sizes of variables that the symbol table tells have to
// agree.
func knownLayout(im *image) (layout, string, error) {
	r, p, err := knownPort(im)
	if err != nil {
		return nil, "", err
	}
	for name, size := range im.sizes {
		if p.Sizes[name] != 0 && size != 0 && p.Sizes[name] != size {
			return nil, "", fmt.Errorf("%w: %s has %d bytes, with %s it has %d: build without -w", ErrLayout, name, size, r.Last, p.Sizes[name])
		}
	}
	return p.Fields, fmt.Sprintf("%s to %s", r.First, r.Last), p.Fields.check()
}

// knownReasons returns the names of what goroutines wait for.
func knownReasons(version string) []string {
	all, err := releases()
	if err != nil {
		return nil
	}
	if r := find(all, version); r != nil {
		return r.Reasons
	}
	return nil
}
