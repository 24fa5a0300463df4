package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// maxPayload limits a message over the embedded server, in bytes. The largest message is an
// order that contains the body of a request.
const maxPayload = 8 << 20

// Broker is the embedded NATS server.
type Broker struct {
	server *server.Server
	port   int
}

// Listen starts a server at host:port; port 0 means a free one. Clients need the token. The
// caller must close the Broker.
func Listen(addr, token string) (*Broker, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: invalid port %q", addr, text)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	listen := int(port)
	if listen == 0 {
		listen = server.RANDOM_PORT
	} else if err := free(net.JoinHostPort(host, text)); err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: listen, Authorization: password(token), MaxPayload: maxPayload,
		NoSigs: true, NoLog: true,
		AuthTimeout: readyWithin.Seconds(), // a process that was just started on a busy machine is slow
	})
	if err != nil {
		return nil, fmt.Errorf("start the embedded NATS server: %w", err)
	}
	b := &Broker{server: s}
	s.Start() // returns at once
	if !s.ReadyForConnections(readyWithin) {
		b.Close()
		return nil, fmt.Errorf("listen at %s: the embedded NATS server does not accept connections", addr)
	}
	tcp, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		b.Close()
		return nil, errors.New("the embedded NATS server has no TCP address")
	}
	b.port = tcp.Port
	return b, nil
}

// free returns the error of listening at an address, which the server does not return.
func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// URL returns the server's URL for clients that reach it by host.
func (b *Broker) URL(host string) string {
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(b.port))
}

// Close stops the server, closes its connections, and waits for both.
func (b *Broker) Close() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
