//go:build unix

package tickets

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestFileRefused opens files that must not be used, and leaves them as they are.
func TestFileRefused(t *testing.T) {
	good := encode([]key{{time.Now(), newSecret()}})
	line := string(good[len(header):])
	write := func(mode fs.FileMode, text string) func(path string) error {
		return func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode))
		}
	}
	for _, c := range []struct {
		name, want string
		make       func(path string) error
	}{
		{"others may read", "mode 0644", write(0o644, string(good))},
		{"the group may read", "mode 0640", write(0o640, string(good))},
		{"others may write", "mode 0602", write(0o602, string(good))},
		{"empty", "not a file of ticket keys", write(0o600, "")},
		{"another file", "not a file of ticket keys", write(0o600, "-----BEGIN PRIVATE KEY-----\n")},
		{"no keys", "no keys", write(0o600, header)},
		{"half a key", "line 2", write(0o600, string(good[:len(good)-9]))},
		{"no end of line", "line 2", write(0o600, string(good[:len(good)-1]))},
		{"not hexadecimal", "line 2", write(0o600, header+line[:len(line)-2]+"x\n")},
		{"no time", "line 2", write(0o600, header+"now"+line[strings.Index(line, " "):])},
		{"twice the same", "line 3", write(0o600, header+line+line)},
		{"zero", "zero", write(0o600, header+"2026-01-02T15:04:05Z "+strings.Repeat("0", 64)+"\n")},
		{"large", "larger", write(0o600, header+strings.Repeat(line, 100))},
		{"directory", "regular file", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"pipe", "regular file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"symbolic link", "symbolic link", func(path string) error {
			return errors.Join(os.WriteFile(path+".target", good, 0o600), os.Symlink(path+".target", path))
		}},
		{"directory is missing", "no such file", func(path string) error { return os.Remove(filepath.Dir(path)) }},
		{"lock that others may open", "mode 0666", func(path string) error {
			return errors.Join(os.WriteFile(path+".lock", nil, 0o600), os.Chmod(path+".lock", 0o666))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			path := filepath.Join(dir, "keys")
			if err := errors.Join(os.Mkdir(dir, 0o700), c.make(path)); err != nil {
				t.Fatal(err)
			}
			before := contents(path)
			k, err := NewKeys(File(path))
			if err == nil {
				k.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one about %q that names the file", err, c.want)
			}
			if after := contents(path); before != after {
				t.Error("the file was changed")
			}
			if digits := strings.TrimSpace(line[strings.Index(line, " ")+1:]); err != nil && strings.Contains(err.Error(), digits[:8]) {
				t.Error("the error contains a part of a key")
			}
		})
	}
}

// contents returns what is in a regular file, and nothing for what is not one.
func contents(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := os.ReadFile(path) // an error is a difference too
	return string(text)
}

// TestForeignFile opens a file of another user, which only root can make.
func TestForeignFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	path := filepath.Join(t.TempDir(), "keys")
	newKeys(t, File(path)).Close()
	if err := os.Chown(path, 1, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := NewKeys(File(path)); err == nil || !strings.Contains(err.Error(), "belongs to user 1") {
		t.Errorf("error %v", err)
	}
}

// TestFileWhileRunning breaks and removes the file of running processes.
func TestFileWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal)
		path := filepath.Join(t.TempDir(), "keys")
		k := newKeys(t, File(path), log.logger())
		for _, name := range []string{path, path + ".lock"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
			}
		}
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ticket := k.seal(t)
		for name, spoil := range map[string]func() error{
			"broken":   func() error { return os.WriteFile(path, good[:len(good)-3], 0o600) },
			"readable": func() error { return os.Chmod(path, 0o644) },
		} {
			logged := log.count("cannot be refreshed")
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if n := log.count("cannot be refreshed") - logged; n < 4 || n > 6 {
				t.Errorf("%s: logged %d times in five minutes: %s", name, n, log)
			}
			if !k.accepts(ticket) || !k.accepts(k.seal(t)) {
				t.Errorf("%s: the keys are gone", name)
			}
			if err := errors.Join(os.WriteFile(path, good, 0o600), os.Chmod(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(DefaultInterval + time.Second)
		}
		if strings.Contains(log.String(), string(good[len(good)-20:len(good)-4])) {
			t.Error("the log contains a key")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		// A leftover of a process that was killed while it wrote.
		if err := os.WriteFile(path+".new", good, 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultInterval + time.Second)
		if k.accepts(ticket) {
			t.Error("a ticket of a key in a removed file is accepted")
		}
		if other := newKeys(t, File(path)); !other.accepts(k.seal(t)) {
			t.Error("the file was not made again")
		}
	})
}

// TestLockHeld opens a file whose lock is held for ever.
func TestLockHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys")
		unlock, err := lock(path + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := NewKeys(File(path)); !errors.Is(err, errBusy) || time.Since(start) < lockTime {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		unlock()
		k := newKeys(t, File(path))
		if unlock, err = lock(path + ".lock"); err != nil {
			t.Fatal(err)
		}
		defer unlock()
		ticket := k.seal(t)
		time.Sleep(30 * time.Hour) // nobody can rotate, and the keys stay in use
		if !k.accepts(ticket) || !k.accepts(k.seal(t)) {
			t.Error("the keys are gone")
		}
	})
}

// FuzzKeyFile parses files. What is accepted is written back as the same text.
func FuzzKeyFile(f *testing.F) {
	now := time.Unix(1700000000, 123e6)
	f.Add(encode([]key{{now, secret{1}}}))
	f.Add(encode([]key{{now, secret{1}}, {now.Add(-time.Hour), secret{2}}}))
	f.Add([]byte(header))
	f.Add([]byte(header + "2026-01-02T15:04:05Z 00\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parse(text)
		if err != nil {
			return
		}
		if back := encode(keys); !bytes.EqualFold(back, text) {
			t.Errorf("%q is written back as %q", text, back)
		}
		for _, now := range []time.Time{time.Unix(0, 0), keys[0].from, time.Unix(1<<34, 0)} {
			s := schedule{DefaultRotation, DefaultAhead}
			for _, planned := range [][]key{s.hurry(keys, now), first(s.plan(keys, now))} {
				if err := checkKeys(planned); err != nil {
					t.Errorf("planned at %v: %v", now, err)
				}
				if _, err := parse(encode(planned)); err != nil {
					t.Errorf("planned at %v, written and read: %v", now, err)
				}
			}
		}
	})
}

func first(keys []key, _ bool) []key { return keys }

// memberEnv names the file that the test binary shares, if it is to be a member of a fleet.
const memberEnv = "REDLINE_TEST_KEYS"

func TestMain(m *testing.M) {
	if path := os.Getenv(memberEnv); path != "" {
		if err := member(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// memberAhead is for how long members know a key before they use it. It passes when they are told.
const memberAhead = 2 * time.Hour

// member obeys one command a line until its input ends.
func member(path string) error {
	k, err := NewKeys(File(path), Interval(time.Hour), Ahead(memberAhead))
	if err != nil {
		return err
	}
	defer k.Close()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch verb, arg, _ := strings.Cut(in.Text(), " "); verb {
		case "seal":
			r := k.now.Load()
			ticket, err := r.inOrder[r.current(k.clock())].seal([]byte("state"), "a.test")
			if err != nil {
				return err
			}
			fmt.Printf("%x\n", ticket)
		case "open":
			ticket, err := hex.DecodeString(arg)
			if err != nil {
				return err
			}
			fmt.Println(k.accepts(ticket))
		case "rotate":
			fmt.Println(k.Rotate())
		case "look":
			fmt.Println(k.refresh(false))
		case "pass":
			k.skew.Add(int64(memberAhead))
			fmt.Println("<nil>")
		}
	}
	return nil
}

// TestProcesses starts three processes on a file that does not exist yet. Each rotates in
// turn. All agree all the time.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	var fleet []func(command string) string
	for range 3 {
		fleet = append(fleet, startMember(t, path))
	}
	ids := func() (ids []string) {
		for i, ask := range fleet {
			ticket := ask("seal")
			if len(ticket) < 2*overhead {
				t.Fatalf("process %d: ticket %q", i, ticket)
			}
			for j, other := range fleet {
				if got := other("open " + ticket); got != "true" {
					t.Fatalf("process %d says %q about a ticket of process %d", j, got, i)
				}
			}
			ids = append(ids, ticket[:2*idSize])
		}
		return ids
	}
	tell := func(ask func(string) string, command string) {
		if got := ask(command); got != "<nil>" {
			t.Errorf("%s: %s", command, got)
		}
	}
	for n := range 6 {
		before := ids()[0]
		if n < 3 {
			tell(fleet[n], "rotate")
		} else {
			var at sync.WaitGroup // all at once
			for _, ask := range fleet {
				at.Go(func() { tell(ask, "rotate") })
			}
			at.Wait()
		}
		for _, ask := range fleet {
			tell(ask, "look")
			if now := ids(); now[0] != before || now[1] != before || now[2] != before {
				t.Fatal("a process changes its key before the others know it")
			}
		}
		for _, ask := range fleet {
			tell(ask, "pass")
			ids()
		}
		if now := ids(); now[0] == before || now[0] != now[1] || now[1] != now[2] {
			t.Fatal("the processes do not change their key")
		}
	}
}

// startMember starts a process, which ends with the test, and returns how to ask it.
func startMember(t *testing.T, path string) func(command string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), memberEnv+"="+path)
	cmd.Stderr = os.Stderr
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
		in.Close()
		_ = cmd.Wait() // it may have been killed: the test is over
	})
	lines := bufio.NewReader(out)
	return func(command string) string {
		if _, err := fmt.Fprintln(in, command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		return strings.TrimSpace(line)
	}
}
