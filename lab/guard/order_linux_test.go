package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/internal/procfs"
)

func TestVictims(t *testing.T) {
	const leader = 100
	stat := func(pid, parent, group int, start uint64) procfs.Stat {
		return procfs.Stat{PID: pid, Parent: parent, Group: group, Session: 7, Start: start, State: 'S'}
	}
	dead := func(s procfs.Stat) procfs.Stat { s.State = 'Z'; return s }
	stranger := func(s procfs.Stat) procfs.Stat { s.Session = 8; return s }
	for _, c := range []struct {
		name        string
		all         []procfs.Stat
		group, tree []int
	}{
		{"nothing", nil, nil, nil},
		{"leader", []procfs.Stat{stat(100, 1, 100, 50), stat(101, 1, 99, 50)}, []int{100}, []int{100}},
		{"members and descendants", []procfs.Stat{stat(100, 1, 100, 50), stat(102, 1, 100, 60), stat(103, 100, 103, 60), stat(104, 103, 103, 61)}, []int{100, 102}, []int{104, 103, 100}},
		{"leader not reaped", []procfs.Stat{dead(stat(100, 1, 100, 50)), stat(102, 100, 100, 60)}, []int{102}, []int{102}},
		{"leader gone", []procfs.Stat{stat(102, 1, 100, 60)}, []int{102}, nil},
		{"number reused", []procfs.Stat{stat(100, 1, 100, 70), stat(102, 100, 100, 71)}, nil, nil},
		{"reused, its leader gone too", []procfs.Stat{stranger(stat(102, 1, 100, 71))}, nil, nil},
		{"older than the leader", []procfs.Stat{stat(102, 1, 100, 49)}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := map[int]procfs.Stat{}
			for _, s := range c.all {
				all[s.PID] = s
			}
			o := order{PID: leader, Start: 50, Session: 7}
			group := pids(o.group(all))
			slices.Sort(group)
			if !slices.Equal(group, c.group) {
				t.Errorf("group: %v, want %v", group, c.group)
			}
			if tree := pids(o.tree(all)); !slices.Equal(tree, c.tree) {
				t.Errorf("tree: %v, want %v", tree, c.tree)
			}
		})
	}
}

func pids(stats []procfs.Stat) (pids []int) {
	for _, s := range stats {
		pids = append(pids, s.PID)
	}
	return pids
}

func TestKillSparesAReusedNumber(t *testing.T) {
	self, err := procfs.Host.Stat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self.Start-- // another process with the same number: killing it would end the test
	if err := kill(self); err != nil {
		t.Error(err)
	}
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	setting := filepath.Join(dir, "setting")
	add := func(id int, rest string) string { return fmt.Sprintf(`{"op":"add","id":%d,%s}`+"\n", id, rest) }
	restore := func(id int, old string) string {
		return add(id, fmt.Sprintf(`"kind":"setting","path":%q,"old":%q`, setting, old))
	}
	for _, c := range []struct {
		name, in string
		want     string // of the setting, which is "now" before
		code     int
		says     string
	}{
		{"nothing", "", "now", 0, ""},
		{"end of input", restore(1, "old"), "old", 0, ""},
		{"done", restore(1, "old") + `{"op":"done"}` + "\n", "old", 0, ""},
		{"after done", `{"op":"done"}` + "\n" + restore(1, "old"), "now", 0, ""},
		{"removed", restore(1, "old") + `{"op":"remove","id":1}` + "\n", "now", 0, ""},
		{"newest first", restore(1, "oldest") + restore(2, "old"), "oldest", 0, ""},
		{"several words", restore(1, "32768\t60999"), "32768 60999", 0, ""},
		{"cut off", restore(1, "old") + restore(2, "newer")[:20], "old", 0, ""},
		{"garbage", restore(1, "old") + "]\n", "old", 1, "read orders"},
		{"unknown kind", restore(1, "old") + add(2, `"kind":"moon"`), "old", 1, "moon"},
		{"an error does not stop the rest", restore(1, "old") + add(2, `"kind":"setting","path":"/proc/none","old":"1"`), "old", 1, "/proc/none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, setting, "now\n")
			var errs strings.Builder
			if code := serve(strings.NewReader(c.in), &errs); code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			if got := read(t, setting); got != c.want {
				t.Errorf("the setting is %q, want %q", got, c.want)
			}
			if !strings.Contains(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
				t.Errorf("it printed %q, want %q", errs.String(), c.says)
			}
		})
	}
}
