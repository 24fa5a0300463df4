package subject

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redline-go/redline/contrib/control"
)

// Grace is how long a subject that was asked to stop waits for requests in
// flight before it drops them.
const Grace = time.Second

// ServeFunc answers requests on ln until ctx is done, and then returns nil within about
// [Grace]. It owns ln. Any other return value is an error of the subject.
type ServeFunc func(ctx context.Context, ln net.Listener) error

// Sockets are where the backends are that a subject may ask: unix sockets, and the URL of
// PostgreSQL. Empty: it has none.
type Sockets struct{ Redis, Postgres, Wait, Fanout string }

var sockets Sockets

// BackendSockets returns the values from the command line. It is valid from the call of the
// [ServeFunc] on.
func BackendSockets() Sockets { return sockets }

// files are those of --cert and --key.
var files struct{ cert, key string }

// Main is the whole of a subject's main function: it reads the flags, listens,
// opens the control socket and serves until SIGINT or SIGTERM, then ends the
// process. The exit status is 0 after a signal, 1 after an error (which stands
// on stderr) and 2 for wrong flags. module is the path of the module, or of
// the package of the standard library, that the subject puts to the test; it may
// be empty, see [Title].
func Main(name, module string, serve ServeFunc) {
	os.Exit(run(name, module, serve, os.Args[1:], os.Stderr))
}

func run(name, module string, serve ServeFunc, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	controlPath := flags.String("control", "", "answer questions about the runtime on a unix socket at `path`")
	flags.StringVar(&sockets.Redis, "redis", "", "ask the Redis behind the unix socket at `path` for GET /redis")
	flags.StringVar(&sockets.Wait, "wait", "", "ask the backend behind the unix socket at `path` for GET /wait")
	flags.StringVar(&sockets.Postgres, "postgres", "", "ask the PostgreSQL at this `URL` for GET /postgres")
	flags.StringVar(&sockets.Fanout, "fanout", "", "ask the HTTP service behind the unix socket at `path` for GET /fanout")
	flags.StringVar(&files.cert, "cert", "", "serve TLS, with the certificate in the PEM `file`")
	flags.StringVar(&files.key, "key", "", "the certificate's key, a PEM `file`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if (files.cert == "") != (files.key == "") {
		fmt.Fprintf(stderr, "%s: --cert and --key: give both, or none\n", name)
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "%s: unexpected argument %q\n", name, flags.Arg(0))
		return 2
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := listenAndServe(ctx, name, module, serve, *addr, *controlPath); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

func listenAndServe(ctx context.Context, name, module string, serve ServeFunc, addr, controlPath string) error {
	// The error of net names the operation and the address already.
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	if controlPath != "" {
		// Without profiles: linking them would have the runtime sample allocations.
		socket, err := control.Listen(controlPath, control.Options{Name: name, Title: Title(name, module)})
		if err != nil {
			return err
		}
		defer socket.Close()
	}
	if err := serve(ctx, ln); err != nil {
		return fmt.Errorf("serve on %s: %w", addr, err)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("serve on %s: ended without being asked to", addr)
	}
	return nil
}
