package http2

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// echo answers with the content.
func echo(x *exchange.Exchange) {
	p := make([]byte, 3000)
	for {
		n, err := x.Session.ReadBody(x, p)
		if n > 0 && x.Session.SendBody(x, p[:n]) != nil || err != nil {
			return
		}
	}
}

// large is a body that exceeds every window of a new client.
var large = strings.Repeat("0123456789abcdef", 20<<10)

var handlers = routes{
	"/echo":   echo,
	"/large":  func(x *exchange.Exchange) { x.Static = []byte(large) },
	"/pieces": func(x *exchange.Exchange) { sendPieces(x, 1000) },
	"/flush": func(x *exchange.Exchange) {
		for range 3 {
			x.Body = append(x.Body, "piece"...)
			_ = x.Session.Flush(x)
		}
	},
	"/slow": func(x *exchange.Exchange) {
		x.Session.Detach()
		sendPieces(x, 100)
	},
	"/abort": func(x *exchange.Exchange) { x.Abort() },
}

// sendPieces sends a large body in pieces.
func sendPieces(x *exchange.Exchange, size int) {
	for text := large; text != ""; text = text[min(size, len(text)):] {
		if x.Session.SendBody(x, []byte(text[:min(size, len(text))])) != nil {
			return
		}
	}
}

// TestExchanges plays exchanges of every kind, in many orders of events.
func TestExchanges(t *testing.T) {
	for seed := range uint64(20) {
		p := newPeer(t, seed, handlers)
		p.word(frameWindowUpdate, 0, 1<<30)
		want := map[uint32]string{}
		for i, path := range []string{"/", "/large", "/pieces", "/flush", "/slow", "/echo", "/abort", "/none"} {
			id := uint32(2*i + 1)
			switch path {
			case "/echo":
				p.headers(id, false, request("POST", path)...)
				p.data(id, false, strings.Repeat("a", 10000)).data(id, false, "").data(id, true, "b")
				want[id] = strings.Repeat("a", 10000) + "b"
			case "/flush":
				p.get(id, path)
				want[id] = "piecepiecepiece"
			case "/large", "/pieces", "/slow":
				p.get(id, path).word(frameWindowUpdate, id, 1<<20)
				want[id] = large
			case "/abort":
				p.get(id, path)
			default:
				p.get(id, path)
				want[id] = "ok"
			}
		}
		for id, body := range want {
			p.want(id, "200", body)
		}
		p.wantReset(13, InternalError)
		p.alive(101)
		p.close()
	}
}

// TestExtendedConnect announces and accepts extended CONNECT only if it is asked to.
func TestExtendedConnect(t *testing.T) {
	for _, on := range []bool{false, true} {
		p := newPeer(t, 30, routes{}, func(cfg *exchange.Config) { cfg.ExtendedConnect = on }).run()
		f, _, _ := parseFrame(p.f.Output())
		announced := bytes.Contains(f.payload, appendSetting(nil, settingEnableConnect, 1))
		if f.kind != frameSettings || announced != on || !bytes.Contains(f.payload, appendSetting(nil, settingNoOldPriority, 1)) {
			t.Errorf("with %v: SETTINGS %x", on, f.payload)
		}
		p.headers(1, true, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "h", ":path", "/")
		if on {
			p.want(1, "200", "ok")
		} else {
			p.wantReset(1, ProtocolError)
		}
		p.close()
	}
}
