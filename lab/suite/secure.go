package suite

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/internal/selfsigned"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// A secure is how a workload uses TLS, and the protocol over it.
type secure struct {
	http2   bool
	streams int  // requests in flight on a connection of HTTP/2; of h2-stream: subscribers
	fresh   bool // each request has its own connection
	resume  bool // connections resume a session
}

// All servers use the same cryptography, since handshakes and bytes are compared: it is
// checked before the measurement, and in every run.
const (
	tlsVersion = tls.VersionTLS13
	tlsCipher  = tls.TLS_AES_128_GCM_SHA256
	tlsCurve   = tls.X25519
)

const (
	bulkBytes       = 10 << 20 // the bodies of h2-upload and h2-download
	streamsPerLine  = 100      // the subscribers of h2-stream that share a connection
	httpsShare      = 0.25     // of tls-at25
	httpsPlain      = "tls"    // whose maximum rate tls-at25 has a share of
	minimumSessions = 0.9      // the share of handshakes of tls-resume that have to resume
)

// httpsNames and http2Names list the workloads of these families.
var (
	httpsNames = []string{httpsPlain, "tls-at25", "tls-resume", "tls-full"}
	http2Names = []string{"h2", "h2-m32", "h2-upload", "h2-download", "h2-stream"}
)

// findSecure returns the workload over TLS with that name; nil for other names.
func findSecure(name string) *workload {
	w := plaintext()
	w.floor, w.family, w.secure = false, familyHTTPS, &secure{}
	switch name {
	case httpsPlain:
		w.title = "HTTP/1.1 over TLS: GET, 13 bytes back"
	case "tls-at25":
		w.title, w.ceiling = fmt.Sprintf("HTTP/1.1 over TLS: Poisson arrivals at %.0f %% of a maximum rate", 100*httpsShare), httpsShare
	case "tls-resume":
		w.title = "TLS: a new connection for each request, sessions resumed"
		w.secure.fresh, w.secure.resume = true, true
	case "tls-full":
		w.title = "TLS: a new connection for each request, full handshakes"
		w.secure.fresh = true
	default:
		if !slices.Contains(http2Names, name) {
			return nil
		}
		w.family = familyHTTP2
		w.overHTTP2(name)
	}
	return &w
}

// overHTTP2 makes w the workload of HTTP/2 with that name.
func (w *workload) overHTTP2(name string) {
	w.secure.http2, w.secure.streams = true, 1
	switch name {
	case "h2":
		w.title = "HTTP/2 over TLS: GET, 13 bytes back, one stream on each connection"
	case "h2-m32":
		w.title = "HTTP/2 over TLS: GET, 13 bytes back, 32 streams on each connection"
		w.connections, w.secure.streams = 16, 32
	case "h2-upload":
		w.title, w.method, w.path = "HTTP/2 over TLS: POST "+sizeText(bulkBytes)+", its length back", "POST", "/upload"
		w.connections, w.body = manyConnections, patternOf(bulkBytes)
		w.answer.body = fmt.Appendf(nil, "%d", bulkBytes)
	case "h2-download":
		w.title, w.path = "HTTP/2 over TLS: GET, "+sizeText(bulkBytes)+" back", sizePath(bulkBytes)
		w.connections, w.answer = manyConnections, answer{contentType: octetStream, body: patternOf(bulkBytes)}
	case "h2-stream":
		w.title = fmt.Sprintf("HTTP/2 over TLS: SSE, one event each %v to each of %d clients", streamInterval, streamClients)
		w.path = fmt.Sprintf("/stream?interval=%v&size=%d", streamInterval, streamEventSize)
		w.connections, w.secure.streams, w.stream = streamClients/streamsPerLine, streamsPerLine, true
		w.answer = answer{contentType: "text/event-stream"}
	}
}

// protocol returns the protocol of a workload for results, empty for HTTP/1.1 in clear.
func (w *workload) protocol() string {
	switch {
	case w.secure == nil:
		return ""
	case w.secure.http2:
		return "HTTP/2 over TLS"
	}
	return "HTTP/1.1 over TLS"
}

// scheme returns the scheme of a workload's URLs.
func (w *workload) scheme() string {
	if w.secure != nil {
		return "https"
	}
	return "http"
}

// withoutTLS and onlyHTTP1 list the builtin subjects that cannot serve all workloads of TLS:
// limit parses nothing; the others have no HTTP/2.
var (
	withoutTLS = []string{floorName}
	onlyHTTP1  = []string{"fasthttp", "hertz", "fiber"}
)

// speaks reports whether the subject has the protocols of a workload.
func (s *Subject) speaks(w *workload) bool {
	switch {
	case w.secure == nil:
		return !strings.HasPrefix(s.URL, "https://")
	case s.control:
		return !slices.Contains(withoutTLS, s.source()) && !(w.secure.http2 && slices.Contains(onlyHTTP1, s.source()))
	}
	return s.takesCertificate()
}

// takesCertificate reports whether the subject's command or files name the certificate.
func (s *Subject) takesCertificate() bool {
	has := func(text string) bool { return strings.Contains(text, "{cert}") }
	if slices.ContainsFunc(s.Command, has) {
		return true
	}
	for _, text := range s.Files {
		if has(text) {
			return true
		}
	}
	return false
}

// A credential is the certificate of all servers of a comparison.
type credential struct {
	cert, key string // paths of PEM files
	pem       []byte // the certificate
}

// certificate returns the certificate of the comparison. It is made once, in b.tmp.
func (b *bench) certificate() (*credential, error) {
	if b.credential != nil {
		return b.credential, nil
	}
	pair, err := selfsigned.New()
	if err != nil {
		return nil, err
	}
	cert, key, err := selfsigned.PEM(pair)
	if err != nil {
		return nil, err
	}
	c := &credential{cert: filepath.Join(b.tmp, "cert.pem"), key: filepath.Join(b.tmp, "key.pem"), pem: cert}
	if err := errors.Join(os.WriteFile(c.cert, cert, 0o644), os.WriteFile(c.key, key, 0o600)); err != nil {
		return nil, fmt.Errorf("write certificate: %w", err)
	}
	b.credential = c
	return c, nil
}

// credentials returns the placeholders of the certificate with their values, which are empty
// for servers without TLS.
func (b *bench) credentials(secure bool) ([]string, error) {
	if !secure {
		return []string{"{cert}", "", "{key}", ""}, nil
	}
	c, err := b.certificate()
	if err != nil {
		return nil, err
	}
	return []string{"{cert}", c.cert, "{key}", c.key}, nil
}

// secureOrder sets the protocol of the generator's load.
func (b *bench) secureOrder(o *spec.Spec, w *workload) error {
	if w.secure == nil {
		return nil
	}
	c, err := b.certificate()
	if err != nil {
		return err
	}
	o.TLS = &spec.TLS{ServerName: selfsigned.Name, Roots: c.pem, Resume: w.secure.resume}
	o.HTTP2, o.Streams = w.secure.http2, w.secure.streams
	if w.secure.fresh {
		o.PerConnection = 1
	}
	return nil
}

// client returns a client for the workload's protocol. The caller closes its connections.
func (b *bench) client(w *workload) (*http.Client, error) {
	t := &http.Transport{DisableCompression: true}
	if w.secure != nil {
		c, err := b.certificate()
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.pem)
		protocol := "http/1.1"
		if w.secure.http2 {
			protocol = "h2"
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: selfsigned.Name, NextProtos: []string{protocol}}
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(!w.secure.http2)
		t.Protocols.SetHTTP2(w.secure.http2)
	}
	return &http.Client{Transport: t, Timeout: answerTimeout}, nil
}

// negotiated returns an error if a response did not use the workload's protocols.
func (w *workload) negotiated(resp *http.Response) error {
	if w.secure == nil {
		return nil
	}
	if w.secure.http2 != (resp.ProtoMajor == 2) {
		return fmt.Errorf("the response is %s, want %s: the server has to choose the protocol by ALPN", resp.Proto, w.protocol())
	}
	return agreed(tls.VersionName(resp.TLS.Version), tls.CipherSuiteName(resp.TLS.CipherSuite), resp.TLS.CurveID.String())
}

// agreed returns an error if a handshake did not have the common cryptography.
func agreed(version, cipher, curve string) error {
	if version == tls.VersionName(tlsVersion) && cipher == tls.CipherSuiteName(tlsCipher) && curve == tlsCurve.String() {
		return nil
	}
	return fmt.Errorf("the handshake chose %s, %s, %s; configure the server for %s, %v, %v",
		version, cipher, curve, tls.VersionName(tlsVersion), tls.CipherSuiteName(tlsCipher), tlsCurve)
}

// checkHandshakes returns the gates of a run over TLS, and an error if its cryptography was
// not the common one. The first handshake of each connection has no session to resume.
func (w *workload) checkHandshakes(r *spec.TLSResult, connections int) ([]results.Gate, error) {
	switch {
	case w.secure == nil:
		return nil, nil
	case r == nil:
		return nil, errors.New("no TLS handshake was completed")
	}
	if err := agreed(r.Version, r.Cipher, r.Curve); err != nil || !w.secure.fresh {
		return nil, err
	}
	later := max(float64(r.Handshakes)-float64(connections), 1)
	share := min(float64(r.Resumed)/later, 1)
	g := results.Gate{Name: "resumed", Value: share, Limit: 0, Passed: r.Resumed == 0}
	g.Text = fmt.Sprintf("%d of %d handshakes resumed a session, and none should", r.Resumed, r.Handshakes)
	if w.secure.resume {
		g.Limit, g.Passed = minimumSessions, share >= minimumSessions
		g.Text = fmt.Sprintf("%.1f %% of %.0f handshakes after the first of each connection resumed a session, at least %.0f %% should", 100*share, later, 100*minimumSessions)
	}
	return []results.Gate{g}, nil
}

// byServer divides the workloads that the subject serves by the server that they need, and
// returns those in clear and those over TLS.
func (s *Subject) byServer(loads []*workload) (inClear, overTLS []*workload) {
	for _, w := range loads {
		switch {
		case !s.serves(w):
		case w.secure == nil:
			inClear = append(inClear, w)
		default:
			overTLS = append(overTLS, w)
		}
	}
	return inClear, overTLS
}
