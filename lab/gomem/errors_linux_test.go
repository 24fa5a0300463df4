package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNotGo(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	if _, err := Open(cmd.Process.Pid); !errors.Is(err, ErrNotGo) {
		t.Errorf("a C program: %v", err)
	}
}

func TestGone(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own()
	p := x.open()
	if _, err := p.Read(); err != nil {
		t.Fatal(err)
	}
	x.end()
	if _, err := p.Read(); !errors.Is(err, ErrGone) {
		t.Errorf("read after the end: %v", err)
	}
	if _, err := Open(x.pid); !errors.Is(err, ErrGone) {
		t.Errorf("open after the end: %v", err)
	}
	if _, err := Open(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("open a number that no process has: %v", err)
	}
}

// A process that runs another program, or the same one again, is another one.
func TestExec(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own()
	p := x.open()
	if _, err := fmt.Fprintln(x.in, "exec", 1); err != nil {
		t.Fatal(err)
	}
	err := error(nil)
	for range 2000 {
		if _, err = p.Read(); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !errors.Is(err, ErrGone) {
		t.Fatalf("read after exec: %v", err)
	}
	own := x.own()
	compare(t, x.open(), own)
}

// Where process_vm_readv is forbidden the figures are the same.
func TestWithoutVectorRead(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	own := x.own()
	p := x.open()
	p.mem.direct = false
	compare(t, p, own)
	x.end()
	if _, err := p.Read(); !errors.Is(err, ErrGone) {
		t.Errorf("read after the end: %v", err)
	}
}

// A binary that was deleted, as by an update, is still read.
func TestDeleted(t *testing.T) {
	bin := build(t, "target", nil, nil)
	x := start(t, bin)
	own := x.own()
	if err := os.Remove(bin); err != nil {
		t.Fatal(err)
	}
	compare(t, x.open(), own)
}

func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	x := start(t, build(t, "target", nil, nil))
	x.own()
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			result <- errno
			return
		}
		_, err := Open(x.pid)
		result <- err
	}()
	if err := <-result; !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "run as its user") {
		t.Errorf("open a process of root as nobody: %v", err)
	}
}

// An address at which nothing is mapped is an error of its own.
func TestHole(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own()
	p := x.open()
	for _, addr := range []uint64{0, 16, 1 << 46, 1 << 63, ^uint64(0) - 64} {
		var b batch
		b.add(p.mem.probe, 8)
		b.add(addr, 64)
		if err := p.mem.read(&b); !errors.Is(err, errAddress) {
			t.Errorf("read %#x: %v", addr, err)
		}
	}
	p.vars[varSched] = 16
	p.fixed = batch{}
	p.prepare()
	if err := p.validate(); !errors.Is(err, ErrLayout) {
		t.Errorf("a wrong address: %v", err)
	}
}

func TestUnknownVersions(t *testing.T) {
	for _, c := range []struct {
		version, experiment string
		args                string
		is                  error
		says                string
	}{
		{"go1.99.1", "", "-s -w", ErrStripped, "the binary is stripped (-ldflags=-s): no symbol table, build without -s"},
		{"go1.99.1", "", "-w", ErrLayout, "go1.99.1 is not in the table"},
		{"go1.99.1", "", "", nil, ""},
		{"go1.21.13", "", "-w", ErrLayout, "go1.21.13 is not in the table"},
		{"go1.26.8", "arenas", "-w", ErrLayout, "GOEXPERIMENT=arenas"},
		{"go1.26.8 X:arenas", "", "-w", ErrLayout, "not a released toolchain"},
		{"devel go1.27-0a1b", "", "-w", ErrLayout, "not a released toolchain"},
		{"go1.22.3", "", "-s -w", ErrStripped, "does not agree"},
		{"go1.22.3", "", "-w", ErrLayout, "bytes, with go1.22.12 it has"},
	} {
		im := openImage(t, build(t, "empty", []string{"-ldflags=" + c.args}, nil))
		im.version, im.tags["GOEXPERIMENT"] = c.version, c.experiment
		err := im.readSymbols()
		if errors.Is(err, ErrStripped) {
			err = im.decodeSymbols(im.stored, 0)
		}
		if err == nil {
			p := Process{lost: map[string]bool{}}
			err = p.findLayout(im)
		}
		if !errors.Is(err, c.is) || c.is != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s with %q: %v, want %q", c.version, c.args, err, c.says)
		}
	}
}

// A damaged binary is an error or is read wrongly, and never more than that.
func TestDamaged(t *testing.T) {
	const rounds = 40
	for _, ldflags := range []string{"", "-s -w"} {
		whole, err := os.ReadFile(build(t, "empty", []string{"-ldflags=" + ldflags}, nil))
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range rounds {
			bad := bytes.Clone(whole)
			for range 1 + random.IntN(64) {
				at := random.IntN(len(bad))
				if random.IntN(2) == 0 {
					at = random.IntN(4096) // headers
				}
				bad[at] = byte(random.Uint32())
			}
			examine(bad)
		}
		for size := len(whole) / 2; size > 0; size /= 2 {
			examine(whole[:size])
		}
	}
}

// examine does what Open does with a file.
func examine(file []byte) {
	im, err := newImage(bytes.NewReader(file))
	if err != nil {
		return
	}
	if err := im.readSymbols(); err != nil {
		_ = im.decodeSymbols(im.stored, 0)
	}
	p := Process{lost: map[string]bool{}}
	_ = p.findLayout(im)
}

func FuzzImage(f *testing.F) {
	whole, err := os.ReadFile(build(f, "empty", nil, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 0, 0, 0}, 60)
	f.Add([]byte("\x7fELF"), 0)
	f.Fuzz(func(_ *testing.T, patch []byte, at int) {
		bad := bytes.Clone(whole)
		copy(bad[min(uint(at), uint(len(bad))):], patch)
		examine(bad)
	})
}
