package kernel

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// asChild is the variable that makes the test's program play a part in a process of its own.
const asChild = "REDLINE_WATCH_PART"

// parts are what a child does when it receives a line. It exits at the end of its input.
var parts = map[string]func(line string){
	"idle": func(string) {},
	"burn": func(string) {
		for end := used() + burned; used() < end; {
			for i := range 100_000 { // most of it in user mode
				spun += i
			}
		}
	},
	"grow": func(string) {
		// Not of the Go heap, of which the race detector has shadows.
		block, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			panic(err)
		}
		held = append(held, block)
	},
}

var (
	held [][]byte
	spun int
)

// burned is the CPU time that the part burn uses.
const burned = 300 * time.Millisecond

// used returns the CPU time of this process.
func used() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

func TestMain(m *testing.M) {
	part := os.Getenv(asChild)
	if part == "" {
		os.Exit(m.Run())
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		parts[part](in.Text())
		_, _ = os.Stdout.WriteString("done\n")
	}
}

// part starts a child. do sends it a line and waits until it has done its work.
func part(t *testing.T, name string) (pid int, do func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(out)
	return cmd.Process.Pid, func() {
		t.Helper()
		if _, err := in.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
	}
}

// observer takes samples of a target, at times that the test chooses.
type observer struct {
	*watch.Watcher
	t       *testing.T
	now     time.Time
	last    *watch.Sample
	missing []watch.Missing
}

func observe(t *testing.T, fs procfs.FS, pid int, tree bool) *observer {
	t.Helper()
	target, err := Open(fs, pid, tree)
	if err != nil {
		t.Fatal(err)
	}
	list, err := target.Samplers()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range list {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	o := &observer{t: t, now: time.Now()}
	o.Watcher, err = watch.New(watch.Options{Every: 200 * time.Millisecond, Samplers: list, Cost: cputime.OfThread}, func(e watch.Event) error {
		if e.Sample != nil {
			o.last = e.Sample
		}
		if e.Missing != nil {
			o.missing = append(o.missing, *e.Missing)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o.step()
	o.step() // by now, the samplers have opened their own descriptors
	return o
}

// step takes a sample that has every figure: it is a minute later for the samplers, also for those that rest because
// the machine is slow.
func (o *observer) step() map[string]float64 {
	o.t.Helper()
	o.now = o.now.Add(time.Minute)
	if err := o.Step(o.t.Context(), o.now); err != nil {
		o.t.Fatal(err)
	}
	return o.last.Values
}

// wait takes samples until done returns true, for ten seconds: what the kernel does with a packet
// may be later than the call that caused it.
func (o *observer) wait(done func(values map[string]float64) bool) map[string]float64 {
	o.t.Helper()
	values := o.step()
	for end := time.Now().Add(10 * time.Second); !done(values) && time.Now().Before(end); values = o.step() {
		time.Sleep(10 * time.Millisecond)
	}
	return values
}

// files writes a tree of files.
func files(t *testing.T, list map[string]string) procfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range list {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if link, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(link, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procfs.FS(root)
}

// listen opens a listener on loopback.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}
