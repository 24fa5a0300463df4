// Command echo is the subject on labstack/echo: its router, on http.Server.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/echoapp"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("echo", "github.com/labstack/echo/v4", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return subject.ServeHTTP(ctx, ln, echoapp.Handler())
}
