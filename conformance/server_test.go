package conformance

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

var (
	full    = flag.Bool("full", false, "test every transport with both kinds of handlers, in clear and over TLS")
	nethttp = flag.Bool("nethttp", false, "test the server of net/http instead of Redline's")
)

// A variant is a way to run the server under test.
type variant struct {
	server    string // "nethttp" or "redline"
	transport redline.Transport
	native    bool // a native handler instead of an http.Handler
	secure    bool // over TLS
}

func (v variant) String() string {
	words := []string{v.server}
	if v.server == "redline" {
		words = append(words, string(v.transport))
		words = append(words, map[bool]string{true: "native", false: "handler"}[v.native])
	}
	return strings.Join(append(words, map[bool]string{true: "tls", false: "clear"}[v.secure]), "-")
}

// variants are those that the flags ask for. native says whether native handlers are included.
func variants(native bool) (list []variant) {
	transports := []redline.Transport{redline.TransportStd}
	if runtime.GOOS == "linux" {
		transports = []redline.Transport{redline.TransportEpoll, redline.TransportUring, redline.TransportStd}
	}
	for _, secure := range []bool{false, true} {
		switch {
		case *nethttp:
			list = append(list, variant{server: "nethttp", secure: secure})
		case !*full:
			list = append(list, variant{"redline", transports[0], native && !secure, secure})
		default:
			for _, tr := range transports {
				list = append(list, variant{"redline", tr, false, secure})
				if native {
					list = append(list, variant{"redline", tr, true, secure})
				}
			}
		}
	}
	return list
}

// onEach runs a test for each variant.
func onEach(t *testing.T, native bool, f func(*testing.T, variant)) {
	for _, v := range variants(native) {
		t.Run(v.String(), func(t *testing.T) { f(t, v) })
	}
}

// start runs a server for the test, with h or, if the variant asks for it, a native handler. It
// speaks HTTP/2 alone in clear, and chooses by ALPN over TLS.
func start(t *testing.T, v variant, h http.Handler, native func(*redline.Ctx)) net.Addr {
	t.Helper()
	protocols := new(http.Protocols)
	var cfg *tls.Config
	if protocols.SetUnencryptedHTTP2(true); v.secure {
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
		cfg = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	}
	if v.server == "nethttp" {
		return startNetHTTP(t, &http.Server{Handler: h, TLSConfig: cfg, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)})
	}
	s := &redline.Server{Transport: v.transport, TLSConfig: cfg, Protocols: protocols, ExtendedConnect: true, Logger: slog.New(slog.DiscardHandler)}
	if v.native {
		s.Native = native
	} else {
		s.Handler = h
	}
	listen := s.Listen
	if v.secure {
		listen = func(addr string) (net.Addr, error) { return s.ListenTLS(addr, "", "") }
	}
	addr, err := listen("127.0.0.1:0")
	if v.transport == redline.TransportUring && errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the kernel does not offer io_uring: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run() }()
	t.Cleanup(func() {
		shut(t, s)
		if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return addr
}

// startNetHTTP runs a server of net/http.
func startNetHTTP(t *testing.T, s *http.Server) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			ended <- s.ServeTLS(l, "", "")
		} else {
			ended <- s.Serve(l)
		}
	}()
	t.Cleanup(func() {
		shut(t, s)
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr()
}

// shut ends a server. Clients of the suites may have left connections open, which are closed
// after a second.
func shut(t *testing.T, s interface {
	Shutdown(context.Context) error
	Close() error
},
) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// connectCase is the name of the case that makes this program a server for Connect's suite.
const connectCase = "connect server"

// TestMain runs one case of gRPC, or a server for Connect's suite, instead of the tests if the
// environment asks for that.
func TestMain(m *testing.M) {
	if os.Getenv(caseVariable) == connectCase {
		if err := runConnectServer(os.Getenv(addrVariable), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if name := os.Getenv(caseVariable); name != "" {
		runCase(name, os.Getenv(addrVariable), os.Getenv(secureVariable) != "")
		return
	}
	os.Exit(m.Run())
}
