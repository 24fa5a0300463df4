// Restart replaces itself with a new process without refusing a connection: the new process
// gets the listener, and when it serves, the old one completes its requests and exits.
//
//	go build -o /tmp/restart ./examples/restart && /tmp/restart
//	curl http://127.0.0.1:8080/        # answers with the process's number
//	kill -HUP NUMBER                   # after another build, say
//	curl http://127.0.0.1:8080/        # another number
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/restart"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr string) error {
	l, err := restart.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	srv := &redline.Server{Native: func(c *redline.Ctx) { c.Text(200, fmt.Sprintln(os.Getpid())) }}
	if err := srv.Adopt(l); err != nil {
		return err // before Ready: the old process continues to serve
	}
	served := make(chan error, 1)
	go func() { served <- srv.Run() }()

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	fmt.Printf("process %d is listening on http://%s\n", os.Getpid(), l.Addr())
	if err := restart.Ready(); err != nil {
		return err
	}
	for {
		select {
		case err := <-served:
			return err
		case s := <-signals:
			if s == syscall.SIGHUP {
				if err := replace(l); err != nil {
					fmt.Fprintln(os.Stderr, err)
					continue // and continue to serve: a bad build is no reason to stop
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			return srv.Shutdown(ctx)
		}
	}
}

func replace(l net.Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := restart.Process(ctx, l)
	return err
}
