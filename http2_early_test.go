package redline_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// pieces is content that comes in small pieces.
type pieces struct{ left int }

func (p *pieces) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	p.left--
	return copy(b, strings.Repeat("x", 100)), nil
}

// TestHTTP2EarlyAnswers has many requests at a time answered before their content has come: all clients
// get their answers, and the connection stays.
func TestHTTP2EarlyAnswers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("/part", func(w http.ResponseWriter, r *http.Request) {
		maybe(second(io.ReadFull(r.Body, make([]byte, 150))))
		io.WriteString(w, "ok")
	})
	onAll(t, func(t *testing.T, transport redline.Transport) {
		server := serve(t, inClear(&redline.Server{Transport: transport, Handler: mux}))
		client := http2Client(t)
		noError(t, posts(client, server.url()+"/none")) // so that there is a connection
		const clients, each = 200, 4
		errs := make(chan error)
		for i := range clients {
			go func() {
				var all error
				for range each {
					all = errors.Join(all, posts(client, server.url()+[]string{"/none", "/part"}[i%2]))
				}
				errs <- all
			}()
		}
		for range clients {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		if n := server.Stats().Accepted; n > 1 {
			t.Errorf("the requests take %d connections", n)
		}
	})
}

// TestHTTP2LateContent has a client send content that was in transit when the answers to as many requests
// as it may have were sent: the connection stays.
func TestHTTP2LateContent(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	onAll(t, func(t *testing.T, transport redline.Transport) {
		server := serve(t, inClear(&redline.Server{Transport: transport, Handler: h}))
		nc, err := net.DialTimeout(server.addr.Network(), server.addr.String(), patience)
		noError(t, err)
		defer nc.Close()
		noError(t, nc.SetDeadline(time.Now().Add(patience)))
		if server.secure {
			nc, err = handshake(nc, "h2")
			noError(t, err)
		}
		var heads, content strings.Builder
		const streams = 250 // the default of MaxStreams
		for i := range uint32(streams) {
			heads.WriteString(post2(2*i+1, "/"))
		}
		for i := range uint32(3 * streams) {
			content.WriteString(frame2(kindData, 0, 2*(i%streams)+1, strings.Repeat("x", 200)))
		}
		noError(t, second(io.WriteString(nc, hello2(1<<20)+heads.String())))
		wantFrames2(t, nc, kindReset, streams)
		noError(t, second(io.WriteString(nc, content.String()+frame2(kindPing, 0, 0, "12345678"))))
		wantFrames2(t, nc, kindPing, 1)
	})
}

// wantFrames2 reads frames until as many of a kind have come.
func wantFrames2(t *testing.T, r io.Reader, kind byte, n int) {
	t.Helper()
	for head := make([]byte, 9); n > 0; {
		noError(t, second(io.ReadFull(r, head)))
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		noError(t, second(io.ReadFull(r, payload)))
		switch head[3] {
		case kind:
			n--
		case kindGoAway:
			t.Fatalf("GOAWAY %x", payload)
		}
	}
}

// posts sends content in pieces, and wants the answer.
func posts(client *http.Client, url string) error {
	resp, err := client.Post(url, "text/plain", &pieces{100})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "ok" {
		return fmt.Errorf("%s %q, %w", resp.Status, body, err)
	}
	return nil
}
