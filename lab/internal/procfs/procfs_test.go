package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func tree(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return FS(root)
}

const tail = " 10 9 8 0 -1 4194304 500 0 0 0 30 12 0 0 20 0 2 0 149730 3133440 412 0"

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Stat
		bad      bool
	}{
		{name: "plain", in: "15944 (cat) R" + tail, want: Stat{PID: 15944, Comm: "cat", State: 'R'}},
		{name: "hostile name", in: "1 (a) R 7 (b) S" + tail, want: Stat{PID: 1, Comm: "a) R 7 (b", State: 'S'}},
		{name: "empty", in: "", bad: true},
		{name: "no name", in: "1 S" + tail, bad: true},
		{name: "reversed", in: "1 )( S" + tail, bad: true},
		{name: "short", in: "1 (a) S 10 9", bad: true},
		{name: "no number", in: "1 (a) S x" + tail, bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseStat(c.in)
			if (err != nil) != c.bad {
				t.Fatalf("error %v", err)
			}
			if c.bad {
				return
			}
			c.want.Parent, c.want.Group, c.want.Session = 10, 9, 8
			c.want.MinorFaults, c.want.Ticks, c.want.Start = 500, 42, 149730
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTree(t *testing.T) {
	stat := func(pid, state, parent string) string { return pid + " (x) " + state + " " + parent + tail[3:] }
	f := tree(t, map[string]string{
		"proc/1/stat": stat("1", "S", "0"), "proc/5/stat": stat("5", "S", "1"), "proc/7/stat": stat("7", "S", "5"),
		"proc/8/stat": stat("8", "S", "7"), "proc/9/stat": stat("9", "Z", "5"), "proc/30/stat": stat("30", "S", "1"),
		"proc/31/none": "", "proc/meminfo": "",
	})
	got, err := f.Tree(5)
	if want := []int{5, 7, 8}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Tree(5) = %v, %v; want %v", got, err, want)
	}
	if got, err := f.Tree(31); err != nil || got != nil {
		t.Errorf("Tree(31) = %v, %v; want nothing", got, err)
	}
	if _, err := FS(t.TempDir()).Tree(5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Tree without /proc: %v", err)
	}
}

func TestTicks(t *testing.T) {
	f := tree(t, map[string]string{"proc/stat": "cpu  100 0 0 100 0 0 0 20 50 50\ncpu0 10 1 2 3 4 5 6 7 8 9\ncpu10 1 1 1 1 1 1 1 1\nintr 1\n"})
	for _, c := range []struct {
		cpus []int
		want Ticks
	}{
		{nil, Ticks{Stolen: 20, Idle: 100, Total: 220, CPUs: 2}}, // the guest columns do not count twice
		{[]int{0}, Ticks{Stolen: 7, Idle: 7, Total: 38, CPUs: 1}},
		{[]int{0, 10}, Ticks{Stolen: 8, Idle: 9, Total: 46, CPUs: 2}},
	} {
		if got, err := f.Ticks(c.cpus); err != nil || got != c.want {
			t.Errorf("Ticks(%v) = %+v, %v; want %+v", c.cpus, got, err, c.want)
		}
	}
	if _, err := f.Ticks([]int{1}); err == nil {
		t.Error("Ticks of CPU 1, which is not there: no error")
	}
	for _, c := range []struct {
		earlier, later Ticks
		want           float64
	}{
		{Ticks{Stolen: 10, Total: 100}, Ticks{Stolen: 15, Total: 200}, 0.05},
		{Ticks{Stolen: 10, Total: 100}, Ticks{Stolen: 10, Total: 100}, 0},
		{Ticks{Stolen: 10, Total: 100}, Ticks{Stolen: 9, Total: 200}, 0}, // it runs backwards on some hypervisors
	} {
		if got := c.later.Steal(c.earlier); got != c.want {
			t.Errorf("%+v.Steal(%+v) = %v, want %v", c.later, c.earlier, got, c.want)
		}
	}
}

func TestPressure(t *testing.T) {
	f := tree(t, map[string]string{"proc/pressure/cpu": "some avg10=0.99 avg60=2.16 avg300=3.65 total=86092950\nfull avg10=0.00 total=1\n"})
	if got, err := f.Pressure(); err != nil || got != 86092950*time.Microsecond {
		t.Errorf("Pressure = %v, %v", got, err)
	}
	if _, err := FS(t.TempDir()).Pressure(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Pressure of a kernel without: %v", err)
	}
	if _, err := tree(t, map[string]string{"proc/pressure/cpu": "some avg10=1\n"}).Pressure(); err == nil {
		t.Error("Pressure without a total: no error")
	}
}

func TestSetting(t *testing.T) {
	f := tree(t, map[string]string{"plain": "bbr\n", "words": "32768\t60999\n", "list": "always [madvise] never\n"})
	for name, want := range map[string]string{"plain": "bbr", "words": "32768 60999", "list": "madvise"} {
		if got, err := ReadSetting(f.Path(name)); err != nil || got != want {
			t.Errorf("ReadSetting(%s) = %q, %v; want %q", name, got, err, want)
		}
	}
	if err := WriteSetting(f.Path("words"), "10000\t65535"); err != nil {
		t.Error(err)
	}
	if got, err := ReadSetting(f.Path("words")); err != nil || got != "10000 65535" {
		t.Errorf("after the write: %q, %v", got, err)
	}
	if err := WriteSetting(f.Path("none"), "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing setting: %v", err)
	}
	if _, err := os.Stat(f.Path("none")); err == nil {
		t.Error("it was created")
	}
	var kept *KeptError
	if err := WriteSetting(os.DevNull, "1"); !errors.As(err, &kept) || kept.Value != "" {
		t.Errorf("a setting that keeps nothing: %v, want a KeptError", err)
	}
}

func TestValue(t *testing.T) {
	lines := []string{"VmRSSx: 1 kB", "VmRSS:\t  42 kB", "Max open files            1024   4096   files", "some"}
	for name, want := range map[string][]string{
		"VmRSS": {"42", "kB"}, "Max open files": {"1024", "4096", "files"}, "some": {}, "none": nil,
	} {
		if got := Value(lines, name); !slices.Equal(got, want) {
			t.Errorf("Value(%s) = %q, want %q", name, got, want)
		}
	}
	if n := Number(lines, "VmRSS"); n != 42 {
		t.Errorf("Number = %d, want 42", n)
	}
}

func TestWaited(t *testing.T) {
	f := tree(t, map[string]string{"proc/thread-self/schedstat": "108345012 2500000 77\n"})
	if got, err := f.Waited(); err != nil || got != 2500*time.Microsecond {
		t.Errorf("Waited = %v, %v", got, err)
	}
	if _, err := FS(t.TempDir()).Waited(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Waited on a kernel without it: %v", err)
	}
	for _, text := range []string{"1 2\n", "1 x 3\n", ""} {
		if _, err := tree(t, map[string]string{"proc/thread-self/schedstat": text}).Waited(); err == nil {
			t.Errorf("Waited of %q: no error", text)
		}
	}
}
