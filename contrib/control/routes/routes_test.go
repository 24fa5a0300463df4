package routes_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"testing"

	"github.com/redline-go/redline/contrib/control/routes"
)

// The trace contains the patterns of the routes, and not the paths.
func TestRoutes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(http.ResponseWriter, *http.Request) {})
	h := routes.Trace(mux)
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/items/secret17", nil))
		return w
	}
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("status %d without a trace", w.Code)
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skipf("another trace is taken: %v", err)
	}
	w := ask()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/none", nil))
	trace.Stop()
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	for _, want := range []string{routes.Category, "GET /items/{id}", "PUT (no pattern)"} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("no %q in the trace", want)
		}
	}
	if bytes.Contains(b.Bytes(), []byte("secret17")) {
		t.Error("the trace has the path of the request")
	}
}
