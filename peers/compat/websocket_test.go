package compat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	coder "github.com/coder/websocket"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	gorilla "github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"
)

// messageBytes is the length of the messages that are echoed.
const messageBytes = 1 << 20

// TestCoderWebsocket echoes messages on coder/websocket, with its client.
func TestCoderWebsocket(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		playCoder(t, r, c.start(t, http.HandlerFunc(coderEcho)), "/")
	})
}

// TestMountedWebsockets upgrades behind the writers of routers and middleware.
func TestMountedWebsockets(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		m := chi.NewRouter()
		m.Use(middleware.Compress(5), middleware.Recoverer)
		m.Get("/chi", coderEcho)
		g := gin.New()
		g.GET("/gin", func(c *gin.Context) { coderEcho(c.Writer, c.Request) })
		m.Mount("/gin", g)
		e := echo.New()
		e.GET("/echo", func(c echo.Context) error {
			gorillaEcho(c.Response(), c.Request())
			return nil
		})
		m.Mount("/echo", e)
		s := c.start(t, m)
		playCoder(t, r, s, "/chi")
		playCoder(t, r, s, "/gin")
		playGorilla(t, r, s, "/echo")
	})
}

// coderEcho sends messages back until the client closes.
func coderEcho(w http.ResponseWriter, q *http.Request) {
	conn, err := coder.Accept(w, q, &coder.AcceptOptions{CompressionMode: coder.CompressionContextTakeover})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(2 * messageBytes)
	for {
		kind, message, err := conn.Read(q.Context())
		if err != nil {
			return
		}
		if err := conn.Write(q.Context(), kind, message); err != nil {
			return
		}
	}
}

func playCoder(t *testing.T, r *report, s *service, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, mode := range []coder.CompressionMode{coder.CompressionDisabled, coder.CompressionContextTakeover} {
		conn, resp, err := coder.Dial(ctx, s.url+path, &coder.DialOptions{CompressionMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		r.add("%s upgrade %q, extensions %q", resp.Status, resp.Header.Get("Upgrade"), resp.Header.Get("Sec-WebSocket-Extensions"))
		conn.SetReadLimit(2 * messageBytes)
		for _, n := range []int{0, 1, 125, 126, 65536, messageBytes, messageBytes} {
			if err := conn.Write(ctx, coder.MessageBinary, pattern(n)); err != nil {
				t.Fatalf("message of %d bytes: %v", n, err)
			}
			kind, message, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("message of %d bytes: %v", n, err)
			}
			r.add("%v %s", kind, brief(message))
		}
		// A ping is answered while somebody reads.
		reading := conn.CloseRead(ctx)
		if err := conn.Ping(reading); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(coder.StatusNormalClosure, "done"); err != nil {
			t.Fatal(err)
		}
	}
	r.get(t, s, path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 12")
	r.get(t, s, path)
}

// TestGorillaWebsocket echoes messages on gorilla/websocket, with its client.
func TestGorillaWebsocket(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		playGorilla(t, r, c.start(t, http.HandlerFunc(gorillaEcho)), "/")
	})
}

// gorillaEcho sends messages back, piece by piece, until the client closes.
func gorillaEcho(w http.ResponseWriter, q *http.Request) {
	up := gorilla.Upgrader{ReadBufferSize: 4096, WriteBufferSize: 0, EnableCompression: true}
	conn, err := up.Upgrade(w, q, http.Header{"X-Extra": {"1"}})
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	for {
		kind, in, err := conn.NextReader()
		if err != nil {
			return
		}
		out, err := conn.NextWriter(kind)
		if err != nil {
			return
		}
		if _, err := io.Copy(out, in); err != nil {
			return
		}
		if err := out.Close(); err != nil {
			return
		}
	}
}

func playGorilla(t *testing.T, r *report, s *service, path string) {
	t.Helper()
	for _, compressed := range []bool{false, true} {
		dialer := gorilla.Dialer{EnableCompression: compressed, HandshakeTimeout: patience}
		conn, resp, err := dialer.DialContext(t.Context(), strings.Replace(s.url, "http", "ws", 1)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r.add("%s extra %q, extensions %q", resp.Status, resp.Header["X-Extra"], resp.Header.Get("Sec-WebSocket-Extensions"))
		for _, n := range []int{0, 1, 125, 126, 65536, messageBytes, messageBytes} {
			if err := conn.WriteMessage(gorilla.BinaryMessage, pattern(n)); err != nil {
				t.Fatalf("message of %d bytes: %v", n, err)
			}
			kind, message, err := conn.ReadMessage()
			if err != nil {
				t.Fatalf("message of %d bytes: %v", n, err)
			}
			r.add("%v %s", kind, brief(message))
		}
		if err := conn.WriteMessage(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, "done")); err != nil {
			t.Fatal(err)
		}
		_, _, err = conn.ReadMessage()
		var closed *gorilla.CloseError
		r.add("closed in order: %v (%v)", errors.As(err, &closed), err)
	}
	r.get(t, s, path)
}
