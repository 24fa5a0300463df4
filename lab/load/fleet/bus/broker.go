package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// maxPayload bounds a message over the embedded server, in bytes: an order with
// the body of a request in it is the largest.
const maxPayload = 8 << 20

// Broker is the embedded NATS server.
type Broker struct {
	server *server.Server
	port   int
}

// Listen starts a server at host:port; port 0 takes a free one. It lets in who
// knows the token.
func Listen(addr, token string) (*Broker, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: port %q", addr, text)
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
		AuthTimeout: readyWithin.Seconds(), // a process that has just been started on a busy machine takes its time
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

// free says why nobody can listen at an address, which the server itself does not
// tell.
func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// URL is the server's address for those who reach it by host.
func (b *Broker) URL(host string) string {
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(b.port))
}

// Close ends the server and its connections, and waits until that is done.
func (b *Broker) Close() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
