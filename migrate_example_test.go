package redline_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redline-go/redline"
)

// These are the snippets of docs/migrating.md.

// A service of net/http runs on Redline by the name of the server's type.
func Example_fromNetHTTP() {
	mux := http.NewServeMux()
	srv := &redline.Server{ // was http.Server
		Addr:              ":8080",
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
	}
	log.Fatal(srv.ListenAndServe())
}

// Hot routes are native, and everything else stays as it was.
func ExampleRouter_Mount() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "Hello, %s!", r.PathValue("name"))
	})

	r := redline.NewRouter()
	r.GET("/plaintext", func(c *redline.Ctx) { c.Text(200, "Hello, World!") })
	r.Mount("/", mux) // everything else stays as it was
	srv := &redline.Server{Addr: ":8080", Native: r.Serve}

	at, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go srv.Run()
	defer srv.Close()
	for _, path := range []string{"/plaintext", "/hello/gopher"} {
		resp, err := http.Get("http://" + at.String() + path)
		if err != nil {
			log.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		fmt.Printf("%s %v\n", body, err)
	}
	// Output:
	// Hello, World! <nil>
	// Hello, gopher! <nil>
}

// A native handler runs under net/http, and is tested like any other.
func ExampleHandlerFunc_ServeHTTP() {
	hello := redline.HandlerFunc(func(c *redline.Ctx) { c.Text(200, "Hello, World!") })
	w := httptest.NewRecorder()
	hello.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 Hello, World!
}
