package toolchain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// proxy sets GOPROXY to one that lists toolchains and has none of them; an empty list is an error.
func proxy(t *testing.T, list string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/golang.org/toolchain/@v/")
		version := strings.TrimSuffix(strings.TrimSuffix(name, ".info"), ".mod")
		switch {
		case list != "" && name == "list":
			fmt.Fprint(w, list)
		case strings.Contains(list, version+"\n") && strings.HasSuffix(name, ".info"):
			fmt.Fprintf(w, `{"Version":%q}`, version)
		case strings.Contains(list, version+"\n") && strings.HasSuffix(name, ".mod"):
			fmt.Fprint(w, "module golang.org/toolchain\n")
		default:
			http.Error(w, "not found: this proxy is a fake", http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{
		"GOPROXY": s.URL, "GONOPROXY": "none", "GOPRIVATE": "", "GOFLAGS": "-modcacherw", "GOMODCACHE": t.TempDir(), "GOSUMDB": "off",
	} {
		t.Setenv(name, value)
	}
}

func TestPublished(t *testing.T) {
	proxy(t, "v0.0.1-go1.25.1.linux-amd64\nv0.0.1-go1.25.2.linux-amd64\nv0.0.1-go1.26rc1.linux-amd64\n")
	got, err := published(t.Context())
	if err != nil || !slices.Contains(got, "v0.0.1-go1.25.2.linux-amd64") || !slices.Contains(got, "v0.0.1-go1.26rc1.linux-amd64") {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := Resolve(t.Context(), []string{"1.2"}); err == nil || !strings.Contains(err.Error(), "no toolchain of this version") {
		t.Error(err)
	}
	if _, err := Resolve(t.Context(), []string{"1.21.99"}); err == nil || !strings.Contains(err.Error(), "get toolchain go1.21.99") {
		t.Error(err)
	}
}

func TestResolveWithoutList(t *testing.T) {
	proxy(t, "")
	if _, err := Resolve(t.Context(), []string{"1.25"}); err == nil || !strings.Contains(err.Error(), "find the newest patch of Go 1.25") || !strings.Contains(err.Error(), "this proxy is a fake") {
		t.Error(err)
	}
}

func local(t *testing.T) Toolchain {
	t.Helper()
	list, err := Resolve(t.Context(), []string{Local})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

func TestResolveLocal(t *testing.T) {
	own := local(t)
	if own.Asked != Local || own.Name != Local || own.Version == "" {
		t.Errorf("%+v", own)
	}
	if own.Short() == Local {
		t.Skip("the command go is no release, and cannot be named twice:", own.Version)
	}
	if _, err := Resolve(t.Context(), []string{Local, own.Short()}); err == nil || !strings.Contains(err.Error(), "leave one out") {
		t.Error(err)
	}
}

// module writes a program and returns its directory.
func module(t *testing.T, demands string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/x\n\ngo " + demands + "\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuild(t *testing.T) {
	t.Setenv("GOWORK", "off")
	own := local(t)
	bin := filepath.Join(t.TempDir(), "x")
	args := []string{"go", "build", "-o", bin, "."}
	if err := own.Build(t.Context(), module(t, "1.21"), bin, args); err != nil {
		t.Error(err)
	}
	err := own.Build(t.Context(), module(t, "1.999"), bin, args)
	var old *TooOldError
	if !errors.As(err, &old) || old.Demands != "1.999" || old.File != "go.mod" || old.Toolchain != own.Version || !IsTooOld(fmt.Errorf("x: %w", err)) {
		t.Errorf("too old: %v", err)
	}
	other := Toolchain{Name: "go1.0.1", Version: "go1.0.1"}
	if err := other.Build(t.Context(), ".", bin, []string{"true"}); err == nil || !strings.Contains(err.Error(), "the result was built by") {
		t.Errorf("another toolchain: %v", err)
	}
	if err := own.Build(t.Context(), ".", filepath.Join(t.TempDir(), "none"), []string{"true"}); err == nil || IsTooOld(err) {
		t.Errorf("nothing built: %v", err)
	}
}

func TestBuildEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := local(t).Build(ctx, ".", "none", []string{"sleep", "60"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
