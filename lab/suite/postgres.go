package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	postgresPackage  = "postgresql" // of Debian
	postgresPrograms = "/usr/lib/postgresql/*/bin"
	postgresPort     = "5432" // part of the socket's name
	postgresUser     = "redline"
	postgresDatabase = "postgres" // initdb creates it

	// postgresSetUp bounds the run time of each program that creates the database.
	postgresSetUp = 2 * time.Minute
)

// postgresTables creates what GET /postgres reads, one statement a line.
var postgresTables = "CREATE TABLE redline (id integer PRIMARY KEY, value text NOT NULL);\n" +
	"INSERT INTO redline SELECT n, CASE n WHEN 1 THEN '" + redisValue + "' ELSE 'another' END FROM generate_series(1, 1000) n;\n"

// findPostgres returns the directory of PostgreSQL's programs: of the latest version that
// matches the pattern, else the one in PATH.
func findPostgres(pattern string) (dir string, err error) {
	found, err := filepath.Glob(filepath.Join(pattern, "initdb"))
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(x, y string) int {
			return cmp.Compare(postgresVersion(x), postgresVersion(y))
		})), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("workloads of PostgreSQL need its server: install it (Debian and Ubuntu: apt-get install %s), or leave them out with --workloads",
			postgresPackage)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// postgresVersion returns the version in .../VERSION/bin/PROGRAM, 0 if there is none.
func postgresVersion(program string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(program))), 64)
	return v
}

// postgres creates a database and returns the command of its server, which listens only on
// a unix socket in its own directory. It uses PostgreSQL's default settings.
func (b *bench) postgres(ctx context.Context, s *service) (*exec.Cmd, error) {
	programs, err := findPostgres(postgresPrograms)
	if err != nil {
		return nil, err
	}
	as, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	home, err := b.postgresHome(as)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(home, "data")
	s.socket = filepath.Join(home, ".s.PGSQL."+postgresPort)
	s.address = fmt.Sprintf("postgres://%s@/%s?host=%s&port=%s&sslmode=disable", postgresUser, postgresDatabase, home, postgresPort)
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, program), args...)
		cmd.Dir, cmd.Env = home, spawn.Environ()
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "PG") })
		if as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		}
		return cmd
	}
	if err := b.finish(ctx, command("initdb", "--pgdata", data, "--username", postgresUser, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")); err != nil {
		return nil, fmt.Errorf("initdb: %w", err)
	}
	fill := command("postgres", "--single", "-D", data, postgresDatabase)
	fill.Stdin = strings.NewReader(postgresTables)
	if err := b.finish(ctx, fill); err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	// Segments of POSIX shared memory would outlive a server that is killed. With mmap,
	// only 56 bytes of System V shared memory remain, by which PostgreSQL detects another
	// server on the same data. A server that is not killed removes them.
	return command("postgres", "-D", data, "-k", home, "-p", postgresPort, "-c", "listen_addresses=",
		"-c", "dynamic_shared_memory_type=mmap"), nil
}

// postgresAccount returns the account that PostgreSQL runs as, nil for this process's: it
// refuses to run as root.
func postgresAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and no account postgres or nobody exists: run the comparison as another user")
}

// postgresHome creates the directory of the database and its socket, owned by the
// account.
func (b *bench) postgresHome(as *syscall.Credential) (string, error) {
	home := filepath.Join(b.tmp, backendPostgres)
	if err := os.Mkdir(home, 0o755); err != nil {
		return "", err
	}
	if as == nil {
		return home, nil
	}
	for dir := b.tmp; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if info.Mode()&0o001 == 0 {
			return "", fmt.Errorf("PostgreSQL does not run as root, and other users cannot enter %s: set TMPDIR to a directory that all users can enter, such as /tmp", dir)
		}
	}
	return home, os.Chown(home, int(as.Uid), int(as.Gid))
}

// finish runs a program on the generator's CPUs and waits for it, at most postgresSetUp.
func (b *bench) finish(ctx context.Context, cmd *exec.Cmd) error {
	output := &tail.Tail{Limit: stderrKept}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = output, output, stopTimeout
	if err := b.launcher.Start(cmd, b.cfg.GeneratorCPUs); err != nil {
		return err
	}
	release, err := b.guard.KillGroup(cmd.Process.Pid)
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreKilled(cmd.Wait()))
	}
	ctx, cancel := context.WithTimeout(ctx, postgresSetUp)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // it may have ended
	err = cmd.Wait()
	stop()
	if err = errors.Join(err, ctx.Err()); err != nil {
		err = fmt.Errorf("%w\n%s", err, output)
	}
	return errors.Join(err, release())
}

// ignoreKilled returns nil for the exit error of a program that was killed.
func ignoreKilled(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil
	}
	return err
}

// greetPostgres opens and closes a session: the server accepts connections before it
// serves them.
func greetPostgres(conn net.Conn) error {
	const protocol = 3 << 16 // version 3.0
	hello := binary.BigEndian.AppendUint32(nil, protocol)
	hello = fmt.Appendf(hello, "user\x00%s\x00database\x00%s\x00\x00", postgresUser, postgresDatabase)
	message := append(binary.BigEndian.AppendUint32(nil, uint32(4+len(hello))), hello...)
	if _, err := conn.Write(message); err != nil {
		return err
	}
	var head [5]byte // type of the message, and its length including the length itself
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	if head[0] != 'R' { // AuthenticationOk, as pg_hba.conf says trust
		text, err := io.ReadAll(io.LimitReader(conn, int64(min(binary.BigEndian.Uint32(head[1:]), 1<<10))))
		return errors.Join(fmt.Errorf("response is %q", bytes.ReplaceAll(text, []byte{0}, []byte{' '})), err)
	}
	_, err := conn.Write([]byte{'X', 0, 0, 0, 4})
	return err
}
