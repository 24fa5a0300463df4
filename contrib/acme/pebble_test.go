//go:build !race

// The race detector looks at nothing here: the goroutines are those of autocert, and Pebble takes its time.

package acme

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to take it.
const patience = 2 * time.Minute

const host = "www.service.test"

// TestPebble obtains certificates from pebble, the ACME server that Let's Encrypt tests clients
// with, by each kind of challenge, serves with them, and renews.
func TestPebble(t *testing.T) {
	for _, kind := range []string{"TLS-ALPN-01", "HTTP-01"} {
		t.Run(kind, func(t *testing.T) {
			web := httptest.NewUnstartedServer(nil)
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
			srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of challenges
			tlsPort := port(srv.Listener)
			if kind == "HTTP-01" {
				tlsPort = freePorts(t, 1)[0] // nobody answers TLS-ALPN-01
			}
			ca := startPebble(t, port(web.Listener), tlsPort)
			dir := filepath.Join(t.TempDir(), "acme")
			// A certificate is valid for a minute and renewed some seconds after it was issued.
			config, challenges, err := Config([]string{host}, dir, Directory(ca.url), Client(ca.client), Email("a@service.test"), RenewBefore(57*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if kind == "HTTP-01" {
				web.Config.Handler = challenges(nil)
			}
			web.Start()
			defer web.Close()
			srv.EnableHTTP2 = true
			// The test server adds a certificate of its own, but only to a configuration without
			// a function that chooses.
			srv.TLS = &tls.Config{
				NextProtos:         append([]string{"h2", "http/1.1"}, config.NextProtos...),
				GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil },
				GetCertificate:     config.GetCertificate,
			}
			srv.StartTLS()
			defer srv.Close()

			first := serial(t, srv, ca)
			files, err := os.ReadDir(dir)
			if err != nil || len(files) < 2 {
				t.Errorf("%d files in the directory, %v", len(files), err)
			}
			for _, f := range files {
				if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
				}
			}
			for end := time.Now().Add(patience); serial(t, srv, ca) == first; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the certificate is not renewed")
				}
			}
			if _, err := tls.Dial("tcp", srv.Listener.Addr().String(), &tls.Config{ServerName: "other.service.test"}); err == nil {
				t.Error("a name that is not listed has a certificate")
			}
		})
	}
}

// serial asks the server by its name, and returns the serial number of its certificate.
func serial(t *testing.T, srv *httptest.Server, ca ca) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tr := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: ca.roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
	}
	req, err := http.NewRequestWithContext(ctx, "GET", "https://"+host+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatalf("%v\n%s", err, ca.log)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "HTTP/2.0" {
		t.Errorf("answer %q, %v", b, err)
	}
	return resp.TLS.PeerCertificates[0].SerialNumber.String()
}

// buildPebble builds a tool of the repository, in the version that it has, and returns its file in the
// cache of the go command.
func buildPebble(t *testing.T, tool string) (exe string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", tool)
	cmd.Dir = filepath.Join("..", "..", "tools")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", tool, err, &log)
	}
	return strings.TrimSpace(string(out))
}

// A ca is a running pebble.
type ca struct {
	url    string
	client *http.Client   // that trusts its server
	roots  *x509.CertPool // of the certificates that it issues
	log    *output
}

// startPebble runs pebble, with a DNS server for which every name is this machine, until the
// test ends.
func startPebble(t *testing.T, httpPort, tlsPort int) ca {
	t.Helper()
	pebble, names := buildPebble(t, "pebble"), buildPebble(t, "pebble-challtestsrv")
	for try := 1; ; try++ {
		c, err := tryPebble(t, pebble, names, httpPort, tlsPort)
		if err == nil {
			return c
		}
		if try == 5 {
			t.Fatal(err)
		}
		t.Logf("start again with other ports: %v", err)
	}
}

// tryPebble is startPebble with an error if one of the two ends at once, because another process has
// taken its port.
func tryPebble(t *testing.T, pebble, names string, httpPort, tlsPort int) (ca, error) {
	t.Helper()
	dir, out := t.TempDir(), new(output)
	pool, certFile, keyFile := ownCertificate(t, dir)
	ports := freePorts(t, 4)
	api, admin, dns, manage := ports[0], ports[1], ports[2], ports[3]
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": fmt.Sprintf("127.0.0.1:%d", api), "managementListenAddress": fmt.Sprintf("127.0.0.1:%d", admin),
		"certificate": certFile, "privateKey": keyFile, "httpPort": httpPort, "tlsPort": tlsPort, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "short", "validityPeriod": 60}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(name, config, 0o600); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", dns)
	ended := make(chan error, 2)
	run(t, out, ended, names, "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "",
		"-dnsserver", at, "-management", fmt.Sprintf("127.0.0.1:%d", manage), "-defaultIPv6", "")
	run(t, out, ended, pebble, "-config", name, "-dnsserver", at)

	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	c := ca{url: fmt.Sprintf("https://127.0.0.1:%d/dir", api), client: &http.Client{Transport: tr, Timeout: patience}, roots: x509.NewCertPool(), log: out}
	var root []byte
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		resp, err := c.client.Get(fmt.Sprintf("https://127.0.0.1:%d/roots/0", admin))
		if err == nil {
			root, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			break
		}
		select {
		case err := <-ended:
			return ca{}, fmt.Errorf("a process ends: %w\n%s", err, out)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("pebble does not answer: %v\n%s", err, out)
		}
	}
	if !c.roots.AppendCertsFromPEM(root) {
		t.Fatalf("pebble's root is %q", root)
	}
	return c, nil
}

// run runs a command until the test ends, and tells if it ends before.
func run(t *testing.T, out *output, ended chan<- error, exe string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe, args...) // killed when the test ends
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=20", "PEBBLE_AUTHZREUSE=0")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { ended <- cmp.Or(cmd.Wait(), errors.New("without an error")) })
	t.Cleanup(wait.Wait) // it was killed
}

// ownCertificate makes the certificate of pebble itself.
func ownCertificate(t *testing.T, dir string) (pool *x509.CertPool, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool, certFile, keyFile = x509.NewCertPool(), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(text)
	if err := os.WriteFile(certFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600); err != nil {
		t.Fatal(err)
	}
	return pool, certFile, keyFile
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// freePorts finds ports that nobody uses at the moment, neither for TCP nor for UDP: a DNS server needs
// both. They are released together, so that none is found twice.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range 100 * n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		p, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			continue
		}
		defer p.Close()
		if ports = append(ports, port(l)); len(ports) == n {
			return ports
		}
	}
	t.Fatal("no ports are free")
	return nil
}

// output is what the processes print.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.text.String())
}
