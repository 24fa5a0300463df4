// Command redline-gin is the subject that runs the very handlers of subject
// gin on Redline.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/engine"
	"github.com/redline-go/redline/peers/internal/ginapp"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("redline-gin", "github.com/redline-go/redline", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return engine.ServeHTTP(ctx, ln, ginapp.Handler())
}
