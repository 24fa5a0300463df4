package toolchain

import (
	"errors"
	"strings"
	"testing"
)

// published by a proxy, in its order.
var listed = []string{
	"v0.0.1-go1.9.2rc2.linux-amd64", "v0.0.1-go1.20.linux-amd64", "v0.0.1-go1.20.3.linux-amd64",
	"v0.0.1-go1.25.0.linux-amd64", "v0.0.1-go1.25.9.linux-amd64", "v0.0.1-go1.25.10.linux-amd64", "v0.0.1-go1.25.11.darwin-arm64",
	"v0.0.1-go1.26.0.linux-amd64", "v0.0.1-go1.26rc1.linux-amd64", "v0.0.1-go1.27rc2.linux-amd64", "v0.0.1-go1.27rc10.linux-amd64",
	"v0.0.1-go1.27beta3.linux-amd64", "v0.0.1-go1.25.99999.linux-amd64", "v0.0.2-go1.25.12.linux-amd64", "golang.org/toolchain", "",
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ asked, want, fault string }{
		{"local", "local", ""},
		{"1.25", "go1.25.10", ""},
		{"go1.25", "go1.25.10", ""},
		{"1.26", "go1.26.0", ""},
		{"1.20", "go1.20.3", ""},
		{"1.25.3", "go1.25.3", ""},
		{"1.27rc1", "go1.27rc1", ""},
		{"1.27", "", "there is no release yet; write 1.27rc10 for its newest candidate"},
		{"1.28", "", "no toolchain of this version for linux/amd64; known minor versions: 1.27, 1.26, 1.25, 1.20, 1.9"},
		{"", "", "write a version such as 1.25"},
		{"latest", "", "write a version such as 1.25"},
		{"1", "", "write a version such as 1.25"},
		{"2.0", "", "write a version such as 1.25"},
		{"1.25.3 -x", "", "write a version such as 1.25"},
		{"1.99999", "", "write a version such as 1.25"},
	} {
		got, err := Choose(c.asked, "linux", "amd64", func() ([]string, error) { return listed, nil })
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %q, %v; want %q, %q", c.asked, got, err, c.want, c.fault)
		}
	}
}

// An exact version needs no list: it works without a network.
func TestChooseOffline(t *testing.T) {
	offline := errors.New("no network")
	fail := func() ([]string, error) { return nil, offline }
	if name, err := Choose("1.25.3", "linux", "amd64", fail); name != "go1.25.3" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := Choose("1.25", "linux", "amd64", fail); !errors.Is(err, offline) || !strings.Contains(err.Error(), "write an exact version") {
		t.Error(err)
	}
}

func TestShort(t *testing.T) {
	for version, want := range map[string]string{
		"go1.25.3": "1.25.3", "go1.26.1 X:nodwarf5": "1.26.1", "go1.27rc1": "1.27rc1", "devel go1.28-0123456": "local",
	} {
		if got := (Toolchain{Version: version}).Short(); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
