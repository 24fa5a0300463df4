// Command tables is the zoo's database: it answers the protocol of package tabledb after $DELAY
// (a duration; none without it).
package main

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	delay := time.Duration(0)
	if text := os.Getenv("DELAY"); text != "" {
		var err error
		if delay, err = time.ParseDuration(text); err != nil {
			log.Fatal(err)
		}
	}
	ln, err := service.Listen()
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(c, delay)
		}
	}()
	ctx, stop := service.Terminated()
	defer stop()
	service.Announce(ln.Addr())
	<-ctx.Done()
}

// answer answers the queries of one connection.
func answer(c net.Conn, delay time.Duration) {
	defer func() { _ = c.Close() }()
	queries := bufio.NewScanner(c)
	var b strings.Builder
	for queries.Scan() {
		if delay > 0 {
			time.Sleep(delay)
		}
		keys := strings.Split(queries.Text(), ",")
		b.Reset()
		fmt.Fprintln(&b, len(keys))
		for _, k := range keys {
			fmt.Fprintf(&b, "%s\tvalue of %s\n", k, k)
		}
		if _, err := c.Write([]byte(b.String())); err != nil {
			return
		}
	}
}
