package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/child"
)

// What the command started does not outlive redline either, also if redline is killed.
func TestKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	script := fmt.Sprintf(`sh -c 'trap "" TERM; echo $$ >> %[1]s; while :; do sleep 1; done' & echo $$ >> %[1]s; wait`, file)
	cmd := exec.Command("/proc/self/exe", watchVerb, "sh", "-c", script)
	cmd.Stderr = os.Stderr
	shown, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []string
	for range 2000 {
		if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") == 2 {
			pids = strings.Fields(string(text))
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	watches := make(chan error, 1)
	go func() {
		lines := bufio.NewReader(shown)
		_, err := lines.ReadString('\n') // what is watched
		_, err2 := lines.ReadString('\n')
		watches <- errors.Join(err, err2)
	}()
	select {
	case err = <-watches: // the second line is a sample, and its guard knows of the command by then
	case <-time.After(time.Minute):
		err = errors.New("nothing is shown")
	}
	if err := errors.Join(err, cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if len(pids) != 2 {
		t.Fatalf("the command did not start: %v", pids)
	}
	end(t, pids)
}

// A command that ends before it opened its control socket is not waited for.
func TestEndsEarly(t *testing.T) {
	o := Options{Command: []string{"sh", "-c", "echo no port left; exit 4"}, Control: filepath.Join(t.TempDir(), "control")}
	_, said, err := watched(t, t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "sh ended before it could be watched: exit status 4") || !strings.Contains(said, "no port left") {
		t.Errorf("%v, %q", err, said)
	}
	ended := make(chan struct{})
	close(ended)
	tries := 0
	if err := child.Patiently(t.Context(), ended, func() error { tries++; return os.ErrNotExist }); err == nil || tries > 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
