// Command gin is the subject on gin-gonic/gin, on http.Server.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/ginapp"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("gin", "github.com/gin-gonic/gin", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return subject.ServeHTTP(ctx, ln, ginapp.Handler())
}
