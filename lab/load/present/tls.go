package present

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// TLSConfig is the TLS configuration of connections.
type TLSConfig struct {
	ServerName string `json:"server_name"`
	Insecure   bool   `json:"insecure"` // any certificate was accepted
	Resume     bool   `json:"resume"`   // sessions were resumed

	ClientCertificate bool `json:"client_certificate,omitempty"` // the generator had one
}

// TLS holds the results of the handshakes.
type TLS struct {
	Version    string          `json:"version"` // as "TLS 1.3"
	Cipher     string          `json:"cipher"`
	Curve      string          `json:"curve,omitempty"`    // of the key exchange
	Protocol   string          `json:"protocol,omitempty"` // negotiated by ALPN
	Handshakes uint64          `json:"handshakes"`         // since the generator began
	Resumed    uint64          `json:"resumed"`            // of Handshakes
	Time       results.Latency `json:"time"`               // duration of a handshake, from the connection
}

// fillTLS adds the part of the result about handshakes.
func (d *Document) fillTLS(r *spec.Result) (err error) {
	if r.TLS == nil {
		return nil
	}
	d.TLS = &TLS{
		Version: r.TLS.Version, Cipher: r.TLS.Cipher, Curve: r.TLS.Curve, Protocol: r.TLS.Protocol,
		Handshakes: r.TLS.Handshakes, Resumed: r.TLS.Resumed,
	}
	d.TLS.Time, err = results.ParseLatency(r.TLS.Histogram)
	return err
}

// protocol describes the protocol, unless it was HTTP/1.1 in clear text.
func (d *Document) protocol() (parts []string) {
	switch c := d.Config; {
	case c.HTTP2 && c.Streams > 1 && d.Stream != nil:
		parts = append(parts, fmt.Sprintf("%d on each HTTP/2 connection", c.Streams))
	case c.HTTP2 && c.Streams > 1:
		parts = append(parts, fmt.Sprintf("%d HTTP/2 streams on each", c.Streams))
	case c.HTTP2:
		parts = append(parts, "HTTP/2")
	}
	if t := d.TLS; t != nil {
		parts = append(parts, report.Line(t.Version))
	}
	if t := d.Config.TLS; t != nil && t.ClientCertificate {
		parts = append(parts, "with a client certificate")
	}
	return parts
}

// handshakes adds the TLS row to the table of latencies.
func (s *summary) handshakes(d *Document, row func(string, results.Latency)) {
	if d.TLS == nil {
		return
	}
	row("TLS", d.TLS.Time)
}

// secure writes what the handshake negotiated.
func (s *summary) secure(d *Document) {
	t := d.TLS
	if t == nil {
		return
	}
	text := fmt.Sprintf("%s, %s, %s; %d handshakes", report.Line(t.Version), report.Line(t.Cipher), report.Line(t.Curve), t.Handshakes)
	if t.Resumed > 0 {
		text += fmt.Sprintf(", %d of them resumed", t.Resumed)
	}
	s.line("TLS", text)
}
