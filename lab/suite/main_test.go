package suite

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/backend"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/suite/toolchain"
)

// TestMain makes the test binary the generator, the guard, the backend and every subject
// too: the suite starts it with one of these verbs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case load.Verb:
			os.Exit(generate())
		case guard.Verb:
			os.Exit(guard.Main(os.Stdin))
		case BackendVerb:
			serve, args := backend.Serve, os.Args[2:]
			if args[0] == "--"+BackendHTTP {
				serve, args = backend.ServeHTTP, args[1:]
			}
			if err := serve(context.Background(), args[0]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case burnVerb:
			burn(os.Stdin, os.Args[2])
			os.Exit(0)
		case "bench-backends":
			os.Exit(benchBackends())
		case "serve":
			os.Exit(serve(os.Args[2], os.Args[3], os.Args[4:]))
		}
	}
	os.Exit(runTests(m))
}

// kept has the subjects that a test has built, for the others.
var kept toolchain.Cache

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redline-kept-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kept = toolchain.OpenCache(dir)
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func generate() int {
	if err := load.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// idleTimeout is the idle timeout of the subject "closes".
const idleTimeout = 2 * time.Second

// serve runs a subject with a flaw.
func serve(flaw, addr string, sockets []string) int {
	var served atomic.Int64
	if flaw == "no-start" {
		fmt.Fprintln(os.Stderr, "config: line 3: no such directive")
		return 3
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := served.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		switch {
		case r.URL.Path == "/redis":
			fmt.Fprint(w, askRedis(sockets[0]))
			return
		case r.URL.Path == "/postgres":
			fmt.Fprint(w, askPostgres(sockets[3]))
			return
		case r.URL.Path == "/fanout":
			fmt.Fprint(w, askFanout(sockets[2], r.URL.Query().Get("wait")))
			return
		case r.URL.Path == "/wait":
			askWait(sockets[1], r.URL.Query().Get("wait"))
		case r.URL.Path == "/bytes" || r.URL.Path == "/order":
			serveSizes(w, r, flaw)
			return
		case flaw == "wrong-body":
			fmt.Fprint(w, "Hello, Wurld!")
			return
		case flaw == "crash" && n > 50:
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			os.Exit(2)
		case flaw == "errors" && n > 20 && n%10 == 0:
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		case strings.HasPrefix(flaw, spinFlaw):
			spin(flaw)
		case flaw == "sleeps":
			time.Sleep(100 * time.Millisecond)
		case flaw == "slow":
			time.Sleep(2 * time.Millisecond)
		}
		fmt.Fprint(w, "Hello, World!")
	})
	server := http.Server{Handler: handler}
	if flaw == "closes" {
		server.IdleTimeout = idleTimeout
	}
	fmt.Fprintln(os.Stderr, server.Serve(l))
	return 1
}
