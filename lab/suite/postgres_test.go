package suite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/pace"
)

func hasPostgres() error {
	_, err := findPostgres(postgresPrograms)
	return err
}

// TestBenchAsksPostgres starts a server and checks its CPU, which includes that of its
// processes for connections. compareNow checks that it has ended.
func TestBenchAsksPostgres(t *testing.T) {
	once(t)
	if err := hasPostgres(); err != nil {
		t.Skip(err)
	}
	cfg := configOf(t, "asks")
	cfg.Workloads = []string{"postgres", "postgres-500"}
	cfg.Window = pace.Window(400 * time.Millisecond)
	c := catalogueOf(t, "asks")
	asks := c.external["asks"]
	asks.Command = append(asks.Command, "", "", "", "{postgres}")
	asks.Workloads = []string{familyPg}
	f := compareSome(t, cfg, c, 1)
	for _, r := range f.Runs {
		if r.Failed != "" || r.Requests == 0 || r.Backend == nil || r.Backend.Name != backendPostgres || r.Backend.CPUSeconds <= 0 {
			t.Errorf("%s: failed %q, %d requests, backend %+v", r.ID, r.Failed, r.Requests, r.Backend)
		}
	}
}

func TestFindPostgres(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	pattern := filepath.Join(dir, "*", "bin")
	if _, err := findPostgres(pattern); err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("without PostgreSQL: %v", err)
	}
	for _, version := range []string{"9.6", "15", "17", "16"} {
		bin := filepath.Join(dir, version, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findPostgres(pattern); err != nil || got != filepath.Join(dir, "17", "bin") {
		t.Errorf("found %s, %v", got, err)
	}
}

// TestPostgresNeedsAccess checks that the error names a directory that the account cannot
// enter.
func TestPostgresNeedsAccess(t *testing.T) {
	as, err := postgresAccount()
	if err != nil {
		t.Fatal(err)
	}
	if as == nil {
		t.Skip("PostgreSQL runs as this user, who is not root and can enter the test's directories")
	}
	closed := filepath.Join(openTemp(t), "closed")
	b := &bench{tmp: filepath.Join(closed, "run")}
	if err := os.MkdirAll(b.tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.postgresHome(as); err == nil || !strings.Contains(err.Error(), "cannot enter "+closed+": set TMPDIR") {
		t.Errorf("err = %v", err)
	}
}

// askPostgres returns what the subject "asks" reads from PostgreSQL, or the error's text.
func askPostgres(address string) string {
	value, err := readRow(address)
	if err != nil {
		return err.Error()
	}
	return value
}

func readRow(address string) (value string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("unix", filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port")))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	hello := fmt.Sprintf("\x00\x03\x00\x00user\x00%s\x00database\x00%s\x00\x00", u.User.Username(), strings.TrimPrefix(u.Path, "/"))
	query := "SELECT value FROM redline WHERE id = 1\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(4+len(hello)))
	message = append(message, hello+"Q"...)
	message = binary.BigEndian.AppendUint32(message, uint32(4+len(query)))
	if _, err := conn.Write(append(message, query...)); err != nil {
		return "", err
	}
	for {
		var head [5]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return "", err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return "", err
		}
		switch head[0] {
		case 'E':
			return "", fmt.Errorf("%q", body)
		case 'D': // DataRow: number of columns, length of the column, the column
			value = string(body[6:])
		case 'C':
			if value == "" {
				return "", errors.New("no row")
			}
			return value, nil
		}
	}
}

// removeSegments removes shared memory that processes left behind: a killed PostgreSQL
// leaves its lock.
func removeSegments(t *testing.T, pids []int) {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var key, id, perms, size, creator int
		if _, err := fmt.Sscan(line, &key, &id, &perms, &size, &creator); err != nil || !slices.Contains(pids, creator) {
			continue
		}
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
			t.Errorf("remove segment %d of process %d: %v", id, creator, err)
		}
	}
}
