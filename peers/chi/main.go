// Command chi is the subject on go-chi/chi: its router, on http.Server.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/chiapp"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("chi", "github.com/go-chi/chi/v5", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return subject.ServeHTTP(ctx, ln, chiapp.Handler())
}
