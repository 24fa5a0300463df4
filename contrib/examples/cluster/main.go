// Cluster is one stream of events on several processes, which listen on one port: each has a hub,
// and descriptors, of its own. NATS in the first process hands each event to all of them.
//
//	go run ./contrib/examples/cluster -processes 4
//	curl -N 'http://127.0.0.1:8080/events?topic=news'
//	curl -d '{"text":"hello"}' 'http://127.0.0.1:8080/publish?topic=news'
//
// Kill one, and its clients continue at the others until it is started again. Interrupt the first, and
// the clients of all processes are asked to connect elsewhere. The events stay in
// the directory of -data, if it is set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
)

// brokerVar tells a process that it is a node, and where its broker is.
const brokerVar = "CLUSTER_BROKER"

// maxBody bounds what is published, in bytes.
const maxBody = 64 << 10

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	processes := flag.Int("processes", 2, "number of processes")
	data := flag.String("data", "", "directory of the events (default: one that is removed at the end)")
	flag.Parse()
	if *processes < 1 || *processes > 64 {
		fmt.Fprintln(os.Stderr, "-processes has to be 1 to 64")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if broker := os.Getenv(brokerVar); broker != "" {
		err = node(ctx, *addr, broker)
	} else {
		err = cluster(ctx, *addr, *processes, *data)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cluster runs the broker, and the nodes until ctx is done. It ends with an error if a node cannot be
// kept running.
func cluster(ctx context.Context, addr string, processes int, data string) (err error) {
	if data == "" {
		if data, err = os.MkdirTemp("", "cluster-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	}
	broker, err := pushnats.New(pushnats.Options{Dir: data, Listen: "127.0.0.1:0", Sync: time.Second})
	if err != nil {
		return err
	}
	defer broker.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, processes)
	var nodes sync.WaitGroup
	for i := range processes {
		nodes.Go(func() {
			errs <- keep(ctx, i, broker.URL(), addr)
			cancel()
		})
	}
	nodes.Wait()
	for range processes {
		err = errors.Join(err, <-errs)
	}
	return err
}

// A node that has lived for so long was good: what ended it was something else. One that ends earlier,
// so often in a row, cannot run.
const (
	lived    = 5 * time.Second
	patience = 5
)

// keep runs a node until ctx is done, and starts it again if it ends before.
func keep(ctx context.Context, i int, broker, addr string) error {
	for failed := 0; ; {
		began := time.Now()
		err := start(ctx, i, broker, addr)
		if ctx.Err() != nil {
			return nil
		}
		if failed++; time.Since(began) > lived {
			failed = 0
		}
		if failed >= patience {
			return fmt.Errorf("node %d ended %d times at once: %w", i, failed, err)
		}
		fmt.Fprintf(os.Stderr, "node %d has ended, and is started again: %v\n", i, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// start runs a node until ctx is done. Its standard input ends with this process, however that ends.
func start(ctx context.Context, i int, broker, addr string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-addr", addr)
	cmd.Env = append(os.Environ(), brokerVar+"="+broker)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	life, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = life.Close
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return err
	}
	return errors.New("it was told to end")
}

// node serves until ctx is done, or the process that started it is gone.
func node(ctx context.Context, addr, at string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	broker, err := pushnats.New(pushnats.Options{URL: at})
	if err != nil {
		return err
	}
	defer broker.Close()
	hub, err := push.New(push.Options{Broker: broker})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/events", hub.Handler(nil))
	mux.HandleFunc("POST /publish", func(w http.ResponseWriter, r *http.Request) { publish(hub, w, r) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process %d has %d subscribers\n", os.Getpid(), hub.Stats().Subscribers)
	})

	srv := &redline.Server{Handler: mux}
	url, err := srv.Listen(addr)
	if err != nil {
		return err
	}
	fmt.Printf("process %s listens on http://%s\n", strconv.Itoa(os.Getpid()), url)
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		down <- errors.Join(hub.Shutdown(ctx), srv.Shutdown(ctx))
	})
	if err := srv.Run(); !errors.Is(err, redline.ErrServerClosed) {
		return err
	}
	return <-down
}

// publish sends the body of a request to the subscribers of a topic, in all processes.
func publish(hub *push.Hub, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e := push.Event{Topic: r.URL.Query().Get("topic"), ID: r.Header.Get("Idempotency-Key"), Data: body}
	if _, err := hub.Publish(r.Context(), e); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
