package source

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile/profiletest"
)

//go:noinline
func spin(n int) (sum int) {
	for i := range n {
		sum += i * i
	}
	return sum
}

// own is a profile of the test's program with samples at the start of spin. The program is not
// position independent, so its addresses are those of the file.
func own(t *testing.T) *pprof.Profile {
	t.Helper()
	p := profiletest.Of("cpu", "nanoseconds", "main;spin 42\n")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pc := reflect.ValueOf(spin).Pointer()
	p.Mapping[0].Start, p.Mapping[0].Limit, p.Mapping[0].File = 0, 1<<40, exe
	p.Location[0].Address = uint64(pc)
	p.Location[0].Line[0].Function.Name = runtime.FuncForPC(pc).Name()
	return p
}

func TestDisasm(t *testing.T) {
	if spin(3) != 5 {
		t.Fatal("it does not add up")
	}
	var b bytes.Buffer
	if err := Disasm(&b, own(t), options(`source\.spin$`)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "source.spin, flat 42, cum 42") || !strings.Contains(got, "        42         42") || !strings.Contains(got, "RET") {
		t.Error(got)
	}
	if strings.Count(got, "\n") < 6 || !strings.Contains(got, "disasm_linux_test.go:") {
		t.Error(got)
	}
}

// What cannot be shown has its reason in the output.
func TestDisasmMissing(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("\x7fELF and no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		want string
	}{
		"gone":     {filepath.Join(dir, "none"), "no such file"},
		"text":     {text, "read " + text},
		"device":   {"/dev/zero", "is not a program"},
		"kernel":   {"[kernel]", "does not name the file"},
		"no name":  {"", "does not name the file"},
		"no place": {"", "does not name the file"},
	} {
		p := own(t)
		p.Mapping[0].File = c.file
		if name == "no place" {
			p.Location[0].Mapping = nil
		}
		var b bytes.Buffer
		if err := Disasm(&b, p, options("spin")); err != nil || !strings.Contains(b.String(), c.want) || !strings.Contains(b.String(), "--binary") {
			t.Errorf("%s: %v, %q", name, err, b.String())
		}
	}
	p := own(t)
	p.Location[0].Address = 8
	var b bytes.Buffer
	if err := Disasm(&b, p, options("spin")); err != nil || !strings.Contains(b.String(), "it may be another build") {
		t.Errorf("%v, %q", err, b.String())
	}
}

// FuzzBinary has no file that makes the reader of programs panic or loop.
func FuzzBinary(f *testing.F) {
	exe, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:4096], uint64(0x400000))
	f.Fuzz(func(t *testing.T, data []byte, pc uint64) {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openBinary(path)
		if err != nil {
			return
		}
		defer b.close()
		if s, err := b.function(pc); err == nil {
			if code, err := b.code(s); err == nil && uint64(len(code)) != s.end-s.start {
				t.Errorf("%d bytes of %+v", len(code), s)
			}
		}
		b.line(pc)
	})
}
