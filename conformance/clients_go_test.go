package conformance

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
)

// goClient has the client of net/http do the scenario.
func (t *trial) goClient(major int) {
	t.Log(runtime.Version())
	pemData, err := os.ReadFile(t.ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pemData)
	c := newGoClient(major, pool)
	t.Cleanup(c.CloseIdleConnections)
	t.sub("get", func(t *trial) {
		body, _ := t.get(c, "/hello")
		t.same(body, map[int]string{1: "HTTP/1.1", 2: "HTTP/2.0"}[major])
	})
	t.sub("post", func(t *trial) {
		_, data := t.blob()
		body, _ := t.do(c, http.MethodPost, "/echo", bytes.NewReader(data), nil)
		t.same(body, string(data))
	})
	t.sub("many", func(t *trial) {
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				body, _ := t.get(c, fmt.Sprintf("/small/%d?id=%s", i, t.id))
				t.same(body, fmt.Sprint(i))
			})
		}
		all.Wait()
		if n := t.s.count(t.id); major == 2 && n != 1 {
			t.Errorf("%d connections", n)
		}
	})
	t.sub("stream", func(t *trial) {
		r, err := c.Get(t.base + "/stream?id=" + t.id)
		if err != nil {
			t.Fatal(err)
		}
		t.lines(r.Body, t.step)
	})
	t.sub("duplex", func(t *trial) {
		in, out := io.Pipe()
		go t.talk(0, "", out)
		r, err := c.Post(t.base+"/duplex", "text/plain", in)
		if err != nil {
			t.Fatal(err)
		}
		t.lines(r.Body, func(n int, line string) { t.talk(n, line, out) })
	})
	t.sub("trailers", func(t *trial) {
		_, trailer := t.do(c, http.MethodPost, "/trailers", strings.NewReader("12345"), http.Header{"X-Client": {"here"}})
		if trailer.Get("X-Length") != "5" || trailer.Get("X-Back") != "here" {
			t.Errorf("trailers %v", trailer)
		}
	})
	t.sub("ca", func(t *trial) {
		stranger := newGoClient(major, x509.NewCertPool())
		var unknown x509.UnknownAuthorityError
		if _, err := stranger.Get(t.base + "/hello"); !errors.As(err, &unknown) {
			t.Errorf("without the authority: %v", err)
		}
	})
}

// talk sends a line when the one before it has come back, and ends the request after the last.
func (t *trial) talk(n int, line string, input io.WriteCloser) {
	if n > 0 {
		t.same(line, fmt.Sprintf("line %d", n-1))
	}
	if n < numParts {
		_, _ = fmt.Fprintf(input, "line %d\n", n)
		return
	}
	_ = input.Close()
}

// newGoClient returns a client of a version of HTTP that trusts a set of authorities.
func newGoClient(major int, pool *x509.CertPool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(major == 1)
	protocols.SetHTTP2(major == 2)
	return &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: protocols}}
}

func (t *trial) get(c *http.Client, path string) (string, http.Header) {
	t.Helper()
	return t.do(c, http.MethodGet, path, nil, nil)
}

// do sends a request, with trailers if there are any. It returns the body and the trailers of
// the response.
func (t *trial) do(c *http.Client, method, path string, body io.Reader, trailer http.Header) (string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, t.base+path, body)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	if trailer != nil {
		r.Trailer, r.ContentLength = trailer, -1
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %v", resp.Status, err)
	}
	return string(data), resp.Trailer
}

// lines hands each line of a body to f as it comes, counted from 1.
func (t *trial) lines(body io.ReadCloser, f func(n int, line string)) {
	t.Helper()
	defer func() { _ = body.Close() }()
	n := 0
	for lines := bufio.NewScanner(body); lines.Scan(); {
		n++
		f(n, lines.Text())
	}
	if n != numParts {
		t.Errorf("%d lines instead of %d", n, numParts)
	}
}
