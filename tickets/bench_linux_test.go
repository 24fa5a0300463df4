package tickets

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkHandshake measures the CPU time of a server's handshake: of its thread alone,
// with the system calls of a socket. The client runs in another thread. The times of a
// resumed handshake include decrypting its ticket and making the next.
//
//	go test -run '^$' -bench Handshake -count 5 ./tickets
func BenchmarkHandshake(b *testing.B) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range []struct {
		name string
		key  crypto.Signer
	}{{"ECDSA-P256", ec}, {"RSA-2048", rs}} {
		for _, kind := range []struct {
			name    string
			version uint16
			curves  []tls.CurveID
		}{
			{"TLS1.3-X25519MLKEM768", tls.VersionTLS13, nil},
			{"TLS1.3-X25519", tls.VersionTLS13, []tls.CurveID{tls.X25519}},
			{"TLS1.2-X25519", tls.VersionTLS12, []tls.CurveID{tls.X25519}},
		} {
			base := &tls.Config{Certificates: []tls.Certificate{certificate(b, key.key)}, MaxVersion: kind.version, CurvePreferences: kind.curves}
			for _, how := range []string{"full", "keys", "cache"} {
				b.Run(key.name+"/"+kind.name+"/"+how, func(b *testing.B) { handshakes(b, base, how) })
			}
		}
	}
}

func handshakes(b *testing.B, server *tls.Config, how string) {
	client := newClient()
	switch how {
	case "full":
		server, client.ClientSessionCache = applied(server, newKeys(b)), nil
	case "keys":
		server = applied(server, newKeys(b))
	case "cache":
		server = applied(server, NewCache(1<<20))
	}
	if client.ClientSessionCache != nil {
		connect(b, server, client)
	}
	runtime.LockOSThread() // the client's goroutine then runs in another thread
	defer runtime.UnlockOSThread()
	var spent time.Duration
	for b.Loop() {
		a, c := blockingPair(b)
		done := make(chan error, 1)
		go func() {
			defer c.Close()
			_, err := tls.Client(c, client).Read(make([]byte, 1))
			done <- err
		}()
		s := tls.Server(a, server)
		before := threadTime(b)
		err := s.Handshake()
		spent += threadTime(b) - before
		if err != nil {
			b.Fatal(err)
		}
		if s.ConnectionState().DidResume != (how != "full") {
			b.Fatal("the handshake is of the other kind")
		}
		if _, err := s.Write([]byte("x")); err != nil {
			b.Fatal(err)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
	b.ReportMetric(float64(spent.Nanoseconds())/1e3/float64(b.N), "server-cpu-us/op")
}

// threadTime is the CPU time of this thread so far.
func threadTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(1 /* RUSAGE_THREAD */, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A blocking connection waits in the kernel, and not in the scheduler of Go, whose work
// would count as the server's.
type blocking struct {
	*os.File
	net.Conn // for addresses, which nobody asks for
}

func (c blocking) Read(p []byte) (int, error)  { return c.File.Read(p) }
func (c blocking) Write(p []byte) (int, error) { return c.File.Write(p) }
func (c blocking) Close() error                { return c.File.Close() }

func (c blocking) SetDeadline(t time.Time) error      { return nil }
func (c blocking) SetReadDeadline(t time.Time) error  { return nil }
func (c blocking) SetWriteDeadline(t time.Time) error { return nil }

func blockingPair(b *testing.B) (server, client net.Conn) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	return blocking{File: os.NewFile(uintptr(fds[0]), "server")}, blocking{File: os.NewFile(uintptr(fds[1]), "client")}
}
