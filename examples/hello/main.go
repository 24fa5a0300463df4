// Hello answers with text and with JSON.
//
//	go run ./examples/hello
//	curl http://127.0.0.1:8080/
//	curl http://127.0.0.1:8080/hello/gopher?times=3
//
// An interrupt ends it after answering the requests in progress.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redline-go/redline"
)

// A greeting is the answer to GET /hello/{name}.
type greeting struct {
	Hello string `json:"hello"`
	Times int    `json:"times"`
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr string) error {
	router := redline.NewRouter()
	router.GET("/", func(c *redline.Ctx) { c.Text(200, "hello, world\n") })
	router.GET("/hello/{name}", hello)

	srv := &redline.Server{Native: router.Serve}
	at, err := srv.Listen(addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", at)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- srv.Shutdown(ctx)
	})
	if err := srv.Run(); !errors.Is(err, redline.ErrServerClosed) {
		return err
	}
	return <-down
}

func hello(c *redline.Ctx) {
	times := 1
	if _, given := c.LookupQuery("times"); given {
		var err error
		if times, err = c.QueryInt("times"); err != nil {
			c.Text(400, err.Error()+"\n")
			return
		}
	}
	if err := c.JSON(200, greeting{Hello: c.Param("name"), Times: times}); err != nil {
		c.Error(500)
	}
}
