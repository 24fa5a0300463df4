package service

import (
	"errors"
	"log"
	"net"
)

// Talk serves a protocol other than HTTP on $PORT until SIGTERM: it runs talk with each
// connection, and closes the connection when talk returns. It ends the process with a message if
// it cannot listen.
func Talk(talk func(net.Conn) error) {
	ln, err := Listen()
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := Terminated()
	defer stop()
	go func() {
		<-ctx.Done()
		_ = ln.Close()
	}()
	Announce(ln.Addr())
	for {
		c, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer func() { _ = c.Close() }()
			_ = talk(c) // its error is the end of the connection
		}()
	}
}
