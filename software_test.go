package redline_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// What programs in use rely on, with these programs where they are in the standard library.

// A Sum is a service of net/rpc.
type Sum struct{}

// Add adds two numbers.
func (Sum) Add(of [2]int, sum *int) error {
	*sum = of[0] + of[1]
	return nil
}

// TestRPC serves net/rpc, whose clients connect with CONNECT to a path and bare line feeds.
func TestRPC(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		service := rpc.NewServer()
		if err := service.Register(Sum{}); err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle(rpc.DefaultRPCPath, service)
		router := redline.NewRouter()
		router.Mount("/", mux)
		for name, s := range map[string]*redline.Server{
			"Handler": {Transport: transport, Handler: mux},
			"mounted": {Transport: transport, Native: router.Serve},
		} {
			t.Run(name, func(t *testing.T) {
				r := serve(t, s)
				var clients sync.WaitGroup
				for range 4 {
					clients.Go(func() {
						c, err := rpc.DialHTTP("tcp", r.addr.String())
						if err != nil {
							t.Error(err)
							return
						}
						defer c.Close()
						for i := range 20 {
							sum := 0
							if err := c.Call("Sum.Add", [2]int{i, i}, &sum); err != nil || sum != 2*i {
								t.Errorf("%d + %d is %d, %v", i, i, sum, err)
							}
						}
					})
				}
				clients.Wait()
			})
		}
	}, overTLS) // rpc.DialHTTP has none
}

// A hesitant source delivers its first part, and the rest only after a while, or when its
// client has been answered.
type hesitant struct {
	parts    []io.Reader
	answered chan struct{}
}

func (h *hesitant) Read(p []byte) (int, error) {
	n, err := h.parts[0].Read(p)
	if err == nil || len(h.parts) == 1 {
		return n, err
	}
	h.parts = h.parts[1:]
	select {
	case <-h.answered:
	case <-time.After(50 * time.Millisecond):
	}
	return n, nil
}

// TestAnsweredClientHasReadAll has a client keep what it sends, in order to send it again with
// credentials, as gowebdav does. An answer before the end of the content would have it send
// half of it. net/http waits in the same way.
func TestAnsweredClientHasReadAll(t *testing.T) {
	content := make([]byte, 100<<10)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	stored := map[string][]byte{}
	store := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		b, err := io.ReadAll(r.Body)
		noError(t, err)
		mu.Lock()
		defer mu.Unlock()
		stored[r.URL.Path] = b
	})
	put := func(t *testing.T, client *http.Client, base string, length int64) {
		path := fmt.Sprintf("/%d", length)
		var kept bytes.Buffer
		source := &hesitant{parts: []io.Reader{bytes.NewReader(content[:1000]), bytes.NewReader(content[1000:])}, answered: make(chan struct{})}
		for i, body := range []io.Reader{io.TeeReader(source, &kept), &kept} {
			req, err := http.NewRequest(http.MethodPut, base+path, io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			if req.ContentLength = length; i > 0 {
				req.ContentLength = -1
				req.SetBasicAuth("a", "b")
			}
			resp, err := client.Do(req)
			if i == 0 {
				close(source.answered)
			}
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		if !bytes.Equal(stored[path], content) {
			t.Errorf("length %d: %d of %d bytes are stored", length, len(stored[path]), len(content))
		}
		delete(stored, path)
	}
	lengths := []int64{int64(len(content)), -1}
	reference := httptest.NewServer(store)
	defer reference.Close()
	for _, length := range lengths {
		put(t, reference.Client(), reference.URL, length)
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Handler: store})
		tr := &http.Transport{TLSClientConfig: clientTLS()}
		defer tr.CloseIdleConnections()
		for _, length := range lengths {
			put(t, &http.Client{Transport: tr}, r.url(), length)
		}
	})
}
