package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
)

// listenPrefix begins the address of a NATS server that the coordinator is itself.
const listenPrefix = "listen:"

// WorkerVerb is that under which the redline command is a worker, and pipeFlag what makes
// it one that is led over its standard input and output.
const (
	WorkerVerb = "worker"
	pipeFlag   = "pipe"
)

// checkBusAddress refuses what is neither the URL of a NATS server nor an address to listen
// at, and says what to write.
func checkBusAddress(where string) error {
	addr, own := strings.CutPrefix(where, listenPrefix)
	if !own {
		return checkBusURL(where)
	}
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return fmt.Errorf("--bus %s: write the address to listen at, as listen:0.0.0.0:4222", where)
	}
	return nil
}

// checkBusURL does not repeat what it refuses, for there may be a password in it.
func checkBusURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return errors.New("--bus: want the URL of a NATS server, as nats://10.0.0.1:4222, or tls://, or listen:0.0.0.0:4222 for one of its own; see redline load --help")
	}
	return nil
}

// busIdentity is who the workers of a run are: what the environment says of it, and
// what nobody can guess for the rest. It has no URL yet.
func busIdentity(credentials string) bus.Address {
	a := bus.New("")
	a.Run, a.Token = cmp.Or(os.Getenv(kube.EnvRun), a.Run), cmp.Or(os.Getenv(kube.EnvToken), a.Token)
	a.Credentials = credentials
	return a
}

// openBus connects the coordinator with the NATS server that where names, for which it
// waits for so long, and which it starts if it is to be its own. invite gets the
// command line with which a worker joins; told says that run and token were given, so
// that who starts the workers knows them. end ends connection and server.
func openBus(ctx context.Context, where string, wait time.Duration, a bus.Address, invite func(how string, told bool)) (coordinator bus.CoordinatorConn, end func() error, err error) {
	a.URL = where
	stop := func() {}
	if addr, own := strings.CutPrefix(where, listenPrefix); own {
		broker, err := bus.Listen(addr, a.Token)
		if err != nil {
			return coordinator, nil, err
		}
		stop = broker.Close
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			stop()
			return coordinator, nil, err
		}
		where = broker.URL(host)
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host, where = "127.0.0.1", broker.URL("THIS-MACHINE")
		}
		a.URL = broker.URL(host)
	}
	patient, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("it did not come within %v, see --wait", wait))
	defer cancel()
	if coordinator, err = bus.Coordinator(patient, a); err != nil {
		stop()
		return coordinator, nil, err
	}
	invite(joinCommand(a, where))
	return coordinator, func() error {
		defer stop()
		return coordinator.Close()
	}, nil
}

// joinCommand is how a worker joins. A token that was given is not repeated.
func joinCommand(a bus.Address, where string) (line string, told bool) {
	token := os.Getenv(kube.EnvToken) != ""
	line = kube.EnvRun + "=" + a.Run
	if !token {
		line += " " + kube.EnvToken + "=" + a.Token
	}
	return fmt.Sprintf("%s redline %s --bus %s", line, WorkerVerb, where), token && os.Getenv(kube.EnvRun) != ""
}
