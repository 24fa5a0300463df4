package gomem

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// layouts.json has what a binary without debugging information or symbols does not tell. It is
// written by `make layouts`, from binaries that the toolchains build.
//
//go:embed layouts.json
var layoutsJSON []byte

// A release is what is known of the runtime of one minor version of Go.
type release struct {
	Tested  []string         `json:"tested"` // the toolchains that it was taken from, first and last
	Reasons []string         `json:"reasons"`
	Arch    map[string]*port `json:"arch"` // by GOARCH
}

// A port is a release on one architecture.
type port struct {
	Fields layout `json:"fields"`
	// Witnesses are functions that use a variable, and the offset within the variable, for each
	// of the variables.
	Witnesses map[string][]witness `json:"witnesses"`
}

// releases decodes the table.
var releases = sync.OnceValues(func() (map[string]*release, error) {
	var m map[string]*release
	if err := json.Unmarshal(layoutsJSON, &m); err != nil {
		return nil, fmt.Errorf("decode layouts.json: %w", err)
	}
	return m, nil
})

// minor returns the version of the language that a toolchain implements: "go1.26" of
// "go1.26.8".
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// knownPort finds the row of the table that fits a binary.
func knownPort(im *image) (*release, *port, error) {
	all, err := releases()
	if err != nil {
		return nil, nil, err
	}
	if strings.ContainsAny(im.version, " -") || !strings.HasPrefix(im.version, "go1.") {
		return nil, nil, fmt.Errorf("%w: %q is not a released toolchain without experiments: build without -s and -w", ErrLayout, im.version)
	}
	if x := im.tags["GOEXPERIMENT"]; x != "" {
		return nil, nil, fmt.Errorf("%w: built with GOEXPERIMENT=%s: build without -s and -w", ErrLayout, x)
	}
	r, ok := all[minor(im.version)]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s is not in the table of versions: build without -s and -w", ErrLayout, im.version)
	}
	p, ok := r.Arch[im.arch]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s on %s is not in the table of versions: build without -s and -w", ErrLayout, im.version, im.arch)
	}
	return r, p, nil
}

// knownLayout returns the layout that the toolchain of a binary gives to the runtime.
func knownLayout(im *image) (layout, error) {
	_, p, err := knownPort(im)
	if err != nil {
		return nil, err
	}
	return p.Fields, p.Fields.check()
}

// knownReasons returns the names of what goroutines wait for.
func knownReasons(version string) []string {
	all, err := releases()
	if err != nil || all[minor(version)] == nil {
		return nil
	}
	return all[minor(version)].Reasons
}
