package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/tree"
)

func samples(t *testing.T) *tree.Samples {
	t.Helper()
	s, err := tree.Read(profiletest.Of("cpu", "nanoseconds", "main.main;main.f 30\nmain.main 0\nmain.main;k:write 12\nmain.g -5\n"), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Symbols {
		if s.Symbols[i].Name == "main.main" {
			s.Symbols[i].Name = "main;main" // it would look like two
		}
	}
	return s
}

func TestCollapsed(t *testing.T) {
	var b bytes.Buffer
	if err := Collapsed(&b, samples(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "main:main;main.f 30\nmain:main;write 12\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpeedscope(t *testing.T) {
	var b bytes.Buffer
	if err := Speedscope(&b, samples(t), "cpu"); err != nil {
		t.Fatal(err)
	}
	var got speedscope
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	p := got.Profiles[0]
	if got.Schema != "https://www.speedscope.app/file-format-schema.json" || p.Type != "sampled" || p.Unit != "nanoseconds" || p.EndValue != 42 || len(p.Samples) != 2 || len(p.Weights) != 2 {
		t.Errorf("%s", b.String())
	}
	for _, stack := range p.Samples {
		for _, f := range stack {
			if int(f) >= len(got.Shared.Frames) {
				t.Errorf("frame %d of %d", f, len(got.Shared.Frames))
			}
		}
	}
	if got.Shared.Frames[0].Name != "main.f" || got.Shared.Frames[0].File != "/src/file.go" {
		t.Errorf("%+v", got.Shared.Frames)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	s := samples(t)
	if err := Collapsed(full{}, s); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := Speedscope(full{}, s, ""); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
