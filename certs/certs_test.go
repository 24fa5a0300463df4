package certs_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redline-go/redline/certs"
)

// link makes a symbolic link, or replaces one at once.
func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, name string) string {
	t.Helper()
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// rename replaces a file at once.
func rename(t *testing.T, name string, text []byte) {
	t.Helper()
	put(t, name+".new", text)
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// ways are those in which pairs are replaced.
var ways = []struct {
	name  string
	setup func(t *testing.T, dir string, f files) (certFile, keyFile string)
	next  func(t *testing.T, dir string, f files)
}{
	{
		"in place", func(t *testing.T, dir string, f files) (string, string) { return f.write(t, dir) },
		func(t *testing.T, dir string, f files) { f.write(t, dir) },
	},
	{
		"renamed", func(t *testing.T, dir string, f files) (string, string) { return f.write(t, dir) },
		func(t *testing.T, dir string, f files) {
			rename(t, filepath.Join(dir, "tls.key"), f.key)
			rename(t, filepath.Join(dir, "tls.crt"), f.cert)
		},
	},
	{
		"secret of Kubernetes", func(t *testing.T, dir string, f files) (string, string) {
			f.write(t, mkdir(t, filepath.Join(dir, "..1")))
			link(t, "..1", filepath.Join(dir, "..data"))
			link(t, "..data/tls.crt", filepath.Join(dir, "tls.crt"))
			link(t, "..data/tls.key", filepath.Join(dir, "tls.key"))
			return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		},
		func(t *testing.T, dir string, f files) {
			f.write(t, mkdir(t, filepath.Join(dir, "..2")))
			link(t, "..2", filepath.Join(dir, "..data"))
			if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		"links of certbot", func(t *testing.T, dir string, f files) (string, string) {
			c, k := f.write(t, mkdir(t, filepath.Join(dir, "archive1")))
			link(t, c, filepath.Join(dir, "fullchain.pem"))
			link(t, k, filepath.Join(dir, "privkey.pem"))
			return filepath.Join(dir, "fullchain.pem"), filepath.Join(dir, "privkey.pem")
		},
		func(t *testing.T, dir string, f files) {
			c, k := f.write(t, mkdir(t, filepath.Join(dir, "archive2")))
			link(t, c, filepath.Join(dir, "fullchain.pem"))
			link(t, k, filepath.Join(dir, "privkey.pem"))
		},
	},
}

// TestReplace replaces a pair in the ways that are in use.
func TestReplace(t *testing.T) {
	for _, way := range ways {
		for _, at := range []string{"at an interval", "by Reload"} {
			t.Run(way.name+"/"+at, func(t *testing.T) {
				dir := t.TempDir()
				c, k := way.setup(t, dir, issue(t, 1, time.Hour, "a.test"))
				interval := time.Hour
				if at == "at an interval" {
					interval = 2 * time.Millisecond
				}
				r := load(t, c, k, certs.Interval(interval), new(journal).logger())
				if got := served(t, r, &tls.Config{}); got != 1 {
					t.Fatalf("certificate %d", got)
				}
				next := issue(t, 2, 2*time.Hour, "a.test")
				way.next(t, dir, next)
				if at == "by Reload" {
					if err := r.Reload(); err != nil {
						t.Fatal(err)
					}
					if got := served(t, r, &tls.Config{}); got != 2 {
						t.Errorf("certificate %d after Reload", got)
					}
				}
				waitFor(t, "the new certificate is served", func() bool { return served(t, r, &tls.Config{}) == 2 })
				if left := time.Until(r.NotAfter()); left < 90*time.Minute {
					t.Errorf("expires in %v", left)
				}
			})
		}
	}
}

// TestUnusable replaces a pair by one that cannot be used yet.
func TestUnusable(t *testing.T) {
	for _, what := range []string{"new certificate with old key", "half a certificate", "no certificate", "not PEM", "no permission to be a file"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, log := t.TempDir(), new(journal)
				c, k := issue(t, 1, 90*24*time.Hour, "a.test").write(t, dir)
				r := load(t, c, k, log.logger())
				next := issue(t, 2, 90*24*time.Hour, "a.test")
				switch what {
				case "new certificate with old key":
					put(t, c, next.cert)
				case "half a certificate":
					put(t, c, next.cert[:len(next.cert)/2])
				case "not PEM":
					put(t, c, bytes.Repeat([]byte("x"), 100))
				default:
					if err := os.Remove(c); err != nil {
						t.Fatal(err)
					}
					if what != "no certificate" {
						mkdir(t, c)
					}
				}
				time.Sleep(certs.DefaultInterval + time.Second)
				if n := log.count("cannot be used"); n != 0 {
					t.Errorf("logged after one look: %s", log)
				}
				time.Sleep(30 * time.Minute)
				if n := log.count("cannot be used"); n != 1 || log.count(c) != 1 {
					t.Errorf("logged %d times in half an hour: %s", n, log)
				}
				if got := served(t, r, &tls.Config{}); got != 1 {
					t.Errorf("certificate %d", got)
				}
				if err := r.Reload(); err == nil || !strings.Contains(err.Error(), c) {
					t.Errorf("Reload: %v", err)
				}
				time.Sleep(time.Hour)
				if n := log.count("cannot be used"); n != 2 {
					t.Errorf("logged %d times in an hour and a half: %s", n, log)
				}
				if err := os.RemoveAll(c); err != nil {
					t.Fatal(err)
				}
				next.write(t, dir)
				time.Sleep(certs.DefaultInterval + time.Second)
				if got := served(t, r, &tls.Config{}); got != 2 || log.count("certificate reloaded") != 1 {
					t.Errorf("certificate %d, log: %s", got, log)
				}
			})
		})
	}
}

// TestMalformedAgainAndAgain writes another broken certificate before every look: that must
// not fill the log.
func TestMalformedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal)
		c, k := issue(t, 1, 90*24*time.Hour, "a.test").write(t, t.TempDir())
		load(t, c, k, log.logger(), certs.Interval(time.Second))
		for n := range 300 {
			put(t, c, bytes.Repeat([]byte("x"), n+1))
			time.Sleep(time.Second)
		}
		if n := log.count("cannot be used"); n < 4 || n > 6 {
			t.Errorf("logged %d times in five minutes: %s", n, log)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal)
		c, k := issue(t, 1, 48*time.Hour, "a.test").write(t, t.TempDir())
		r := load(t, c, k, log.logger(), certs.Interval(time.Minute))
		if want := time.Now().Add(48 * time.Hour); r.NotAfter().Sub(want).Abs() > time.Second {
			t.Errorf("NotAfter is %v, want %v", r.NotAfter(), want)
		}
		for _, step := range []struct {
			wait          time.Duration
			soon, expired int
		}{
			{23 * time.Hour, 0, 0},
			{time.Hour + 2*time.Minute, 1, 0},
			{30 * time.Minute, 1, 0},
			{time.Hour, 2, 0},
			{22*time.Hour + 20*time.Minute, 24, 0},
			{30 * time.Minute, 24, 1},
			{time.Hour, 24, 2},
		} {
			time.Sleep(step.wait)
			if soon, expired := log.count("expires within a day"), log.count("has expired"); soon != step.soon || expired != step.expired {
				t.Errorf("%v before its end: logged %d and %d times, want %d and %d", time.Until(r.NotAfter()), soon, expired, step.soon, step.expired)
			}
		}
	})
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	c, k := issue(t, 1, time.Hour, "a.test").write(t, dir)
	_, other := issue(t, 2, time.Hour, "a.test").write(t, mkdir(t, filepath.Join(dir, "other")))
	missing := filepath.Join(dir, "missing")
	big := filepath.Join(dir, "big")
	put(t, big, make([]byte, 2<<20))
	for _, c := range []struct {
		name, cert, key string
		o               []certs.Option
		want            string
	}{
		{"no certificate", missing, k, nil, missing},
		{"no key", c, missing, nil, missing},
		{"key of another certificate", c, other, nil, "does not match"},
		{"key for a certificate", k, k, nil, k},
		{"further pair", c, k, []certs.Option{certs.Pair(c, other)}, other},
		{"directory", dir, k, nil, "regular file"},
		{"large file", big, k, nil, "regular file"},
		{"interval", c, k, []certs.Option{certs.Interval(0)}, "interval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := certs.Load(c.cert, c.key, c.o...)
			if err == nil {
				r.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "certs: ") {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
		})
	}
}

// TestConnections replaces the certificate of a server of net/http under its connections.
func TestConnections(t *testing.T) {
	dir := t.TempDir()
	c, k := issue(t, 1, time.Hour, "a.test").write(t, dir)
	r := load(t, c, k, certs.Interval(time.Millisecond), new(journal).logger())
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, "ok") }))
	srv.TLS = &tls.Config{GetCertificate: r.GetCertificate}
	srv.StartTLS()
	defer srv.Close()
	// The test server has a certificate of its own, which is for clients without a name.
	old, err := tls.Dial("tcp", srv.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: "a.test"})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				nc, err := tls.Dial("tcp", srv.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: "a.test"})
				if err != nil {
					t.Errorf("handshake during a change: %v", err)
					return
				}
				nc.Close()
			}
		})
	}
	for serial := range int64(10) {
		issue(t, serial+2, time.Hour, "a.test").write(t, dir)
		waitFor(t, "the certificate is served", func() bool { return served(t, r, &tls.Config{}) == serial+2 })
	}
	close(stop)
	clients.Wait()
	if _, err := io.WriteString(old, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(old); err != nil || !bytes.HasSuffix(b, []byte("\r\n\r\nok")) {
		t.Errorf("the connection of before is answered %q, %v", b, err)
	}
}

// TestClose closes twice, and serves afterwards.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		dir := t.TempDir()
		c, k := issue(t, 1, time.Hour, "a.test").write(t, dir)
		r := load(t, c, k, new(journal).logger())
		r.Close()
		r.Close()
		issue(t, 2, time.Hour, "a.test").write(t, dir)
		time.Sleep(time.Hour)
		if got := served(t, r, &tls.Config{}); got != 1 {
			t.Errorf("certificate %d after Close", got)
		}
		if err := r.Reload(); err != nil || served(t, r, &tls.Config{}) != 2 {
			t.Errorf("Reload after Close: %v, certificate %d", err, served(t, r, &tls.Config{}))
		}
	})
}
