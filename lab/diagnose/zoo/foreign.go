package zoo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"time"
)

// foreign is the directory of services in other languages. Their files are copied to the
// directory of the server before it starts.
const foreign = "foreign"

// unpack copies the files of a foreign species to dir. In the files *.conf, @ADDR@ and @DIR@ are
// replaced.
func (s Species) unpack(dir, addr string) error {
	from := path.Join(foreign, s.Name)
	entries, err := fs.ReadDir(files, from)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(path.Join(from, e.Name()))
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if path.Ext(e.Name()) == ".conf" {
			text = bytes.ReplaceAll(text, []byte("@ADDR@"), []byte(addr))
			text = bytes.ReplaceAll(text, []byte("@DIR@"), []byte(dir))
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
	return nil
}

// command returns the program of a foreign species with its arguments. Those that name a file of
// the species become paths in dir. The error is [ErrNeeds] if the program is not installed.
func (s Species) command(dir string, twin bool) ([]string, error) {
	words := s.Command
	if twin && len(s.TwinCommand) > 0 {
		words = s.TwinCommand
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return nil, fmt.Errorf("%w: install %s: %w", ErrNeeds, words[0], err)
	}
	argv := []string{program}
	for _, w := range words[1:] {
		if _, err := fs.Stat(files, path.Join(foreign, s.Name, w)); err == nil {
			w = filepath.Join(dir, w)
		}
		argv = append(argv, w)
	}
	return argv, nil
}

// beginForeign starts a species in another language. The address is chosen here, because not
// every program can say which one it got.
func (s Species) beginForeign(ctx context.Context, dir string, twin bool, env map[string]string, g *group) (*process, error) {
	argv, err := s.command(dir, twin)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	if err := s.unpack(dir, addr); err != nil {
		return nil, err
	}
	if env["HOST"], env["PORT"], err = net.SplitHostPort(addr); err != nil {
		return nil, err
	}
	return begin(ctx, argv, env, g, s.Needs.CPUs, addr)
}

// freeAddr returns an address that nobody listens on. On Linux, its host is one of the 16 million that
// are this machine: hardly anybody takes the port before the server that gets it.
func freeAddr() (string, error) {
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// answers waits until a foreign server accepts connections, or has ended.
func (p *process) answers(ctx context.Context, addr string) error {
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.ended:
			return errors.New("it ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("wait until it listens: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
