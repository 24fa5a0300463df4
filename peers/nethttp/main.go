// Command nethttp is the subject that uses only net/http: http.ServeMux on http.Server.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/stdlib"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("nethttp", "net/http", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return subject.ServeHTTP(ctx, ln, stdlib.Handler())
}
