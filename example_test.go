package redline_test

import (
	"log"

	"github.com/redline-go/redline"
)

// This is the example of the package's documentation.
func Example() {
	r := redline.NewRouter()
	r.GET("/hello/{name}", func(c *redline.Ctx) {
		c.Text(200, "Hello, "+c.Param("name")+"!")
	})
	srv := &redline.Server{Addr: ":8080", Native: r.Serve}
	log.Fatal(srv.ListenAndServe())
}
