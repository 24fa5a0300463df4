package pushws

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/format"
)

// readLimit bounds what a client may send in one message, in bytes: a client has nothing to
// say but control frames.
const readLimit = 1 << 10

// Handler returns a handler that serves the streams of h through WebSockets (RFC 6455). Each
// event is a message: with the format "ndjson", which is the default, a text message with
// the object; with "protobuf" a binary message with the Event of push/format/events.proto,
// without its length. A sign of life is a ping; a client that does not answer it within
// push.Options.WriteTimeout is gone.
//
// A page cannot send the header Authorization with a WebSocket. It offers the subprotocols [Subprotocol] and
// "bearer." with its token instead; h finds the token in the header. The answer names the former alone.
//
// A page may connect if it has the same host as the handler, or if its origin is in
// h.Origins; others get 403. Other answers than 101 are those of h.
//
// Over HTTP/2, clients open a WebSocket by extended CONNECT (RFC 8441), if the server announces it:
// see redline.Server.ExtendedConnect. The handler has to be mounted for all methods then.
//
// Each connection has the goroutine of its handler and one that reads, under any server.
func Handler(h *push.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(h, w, r) })
}

// Subprotocol is the name of what is spoken here (RFC 6455, 1.9), for clients that offer one.
const Subprotocol = "redline.push"

// bearerPrefix is what a subprotocol with a token begins with. A token has no other characters than a
// subprotocol may have (RFC 6750, 2.1; RFC 6455, 4.1), but "/" and "=", which those of JWTs do not need.
const bearerPrefix = "bearer."

// authorize moves the token among the subprotocols of a request into the header, unless it has one there.
// Two tokens are as bad as none.
func authorize(r *http.Request) {
	const field = "Sec-Websocket-Protocol"
	var token string
	var kept []string
	tokens := 0
	for _, line := range r.Header.Values(field) {
		for offered := range strings.SplitSeq(line, ",") {
			offered = strings.TrimSpace(offered)
			if t, ok := strings.CutPrefix(offered, bearerPrefix); ok {
				token = t
				tokens++
				continue
			}
			kept = append(kept, offered)
		}
	}
	if tokens == 0 {
		return
	}
	r.Header.Del(field)
	if len(kept) > 0 {
		r.Header.Set(field, strings.Join(kept, ", "))
	}
	if tokens > 1 {
		token = ""
	}
	if len(r.Header.Values("Authorization")) == 0 {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// protocol is how the messages of a format travel.
type protocol struct {
	name, mediaType string
	kind            websocket.MessageType
	unframe         func([]byte) []byte
}

var protocols = []protocol{
	{format.NDJSON.Name(), format.NDJSON.MediaType(), websocket.MessageText, unline},
	{format.Protobuf.Name(), format.Protobuf.MediaType(), websocket.MessageBinary, unprefix},
}

// choose returns the protocol that a request names. false: it names another one.
func choose(r *http.Request) (protocol, bool) {
	name := r.URL.Query().Get("format")
	if name == "" {
		return protocols[0], true
	}
	for _, p := range protocols {
		if p.name == name {
			return p, true
		}
	}
	return protocol{}, false
}

func serve(h *push.Handler, w http.ResponseWriter, r *http.Request) {
	p, ok := choose(r)
	if !ok {
		http.Error(w, "choose a format for WebSockets: ?format=ndjson or ?format=protobuf", http.StatusNotAcceptable)
		return
	}
	w, r = upgraded(w, r)
	r = r.Clone(r.Context())
	authorize(r)
	s := newSocket(w, r, p, h.Origins)
	r = r.Clone(s.ctx)
	r.Header.Set("Accept", p.mediaType)
	h.ServeHTTP(s, r)
	s.end()
}

// unline removes the end of a line.
func unline(p []byte) []byte { return bytes.TrimSuffix(p, []byte("\n")) }

// unprefix removes the length of a message.
func unprefix(p []byte) []byte {
	_, n := binary.Uvarint(p)
	return p[max(n, 0):]
}
