// Command centrifuge is the subject on the library of Centrifugo, on net/http: it serves only
// /events and /publish. The library wraps what is published: an event's data is
// {"channel":TOPIC,"pub":{"data":BODY}}.
package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/centrifugal/centrifuge"

	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("centrifuge", "github.com/centrifugal/centrifuge", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return err
	}
	node.OnConnecting(func(_ context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:   &centrifuge.Credentials{},
			Subscriptions: map[string]centrifuge.SubscribeOptions{string(e.Data): {}},
		}, nil
	})
	if err := node.Run(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { events(node, w, r) })
	mux.HandleFunc("POST /publish", func(w http.ResponseWriter, r *http.Request) { publish(node, w, r) })
	err = subject.ServeHTTP(ctx, ln, mux)
	grace, cancel := context.WithTimeout(context.Background(), subject.Grace)
	defer cancel()
	_ = node.Shutdown(grace) // what is left open ends with the process
	return err
}

func events(node *centrifuge.Node, w http.ResponseWriter, r *http.Request) {
	topic, err := subject.Topic(r.URL.Query().Get("topic"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t := &transport{w: w, flusher: http.NewResponseController(w), ended: make(chan struct{})}
	defer t.Close(centrifuge.DisconnectConnectionClosed)
	client, leave, err := centrifuge.NewClient(r.Context(), node, t)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = leave() }()
	w.Header().Set("Content-Type", subject.EventStream)
	w.Header().Set("Cache-Control", "no-cache")
	client.Connect(centrifuge.ConnectRequest{Data: []byte(topic)})
	if t.write() != nil { // the head
		return
	}
	select {
	case <-r.Context().Done():
	case <-t.ended:
	}
}

func publish(node *centrifuge.Node, w http.ResponseWriter, r *http.Request) {
	topic, err := subject.Topic(r.URL.Query().Get("topic"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, subject.MaxPublish))
	if err == nil {
		_, err = subject.Published(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := node.Publish(topic, body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// A transport writes what the library sends to a client as server-sent events.
type transport struct {
	flusher *http.ResponseController
	ended   chan struct{}

	mu     sync.Mutex
	w      http.ResponseWriter
	closed bool
}

// write writes messages as events, and sends them.
func (t *transport) write(messages ...[]byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return io.EOF
	}
	for _, m := range messages {
		for _, part := range [][]byte{[]byte("data: "), m, []byte("\n\n")} {
			if _, err := t.w.Write(part); err != nil {
				return err
			}
		}
	}
	return t.flusher.Flush()
}

// Write implements centrifuge.Transport, as do the methods below.
func (t *transport) Write(message []byte) error { return t.write(message) }

// WriteMany writes several messages.
func (t *transport) WriteMany(messages ...[]byte) error { return t.write(messages...) }

// Close ends the stream.
func (t *transport) Close(centrifuge.Disconnect) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.ended)
	}
	return nil
}

// Name returns the name of the transport.
func (t *transport) Name() string { return "events" }

// AcceptProtocol is for the library's metrics.
func (t *transport) AcceptProtocol() string { return "" }

// Protocol returns the encoding.
func (t *transport) Protocol() centrifuge.ProtocolType { return centrifuge.ProtocolTypeJSON }

// ProtocolVersion returns the version of the library's protocol.
func (t *transport) ProtocolVersion() centrifuge.ProtocolVersion { return centrifuge.ProtocolVersion2 }

// Unidirectional reports that clients send nothing.
func (t *transport) Unidirectional() bool { return true }

// Emulation reports that they do not send anything by other requests either.
func (t *transport) Emulation() bool { return false }

// DisabledPushFlags leaves only what was published.
func (t *transport) DisabledPushFlags() uint64 { return ^centrifuge.PushFlagPublication }

// PingPongConfig disables pings.
func (t *transport) PingPongConfig() centrifuge.PingPongConfig {
	return centrifuge.PingPongConfig{PingInterval: -1}
}
