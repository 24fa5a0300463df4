// Command redline-chi is the subject that runs the very handlers of subject
// chi on Redline.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/chiapp"
	"github.com/redline-go/redline/peers/internal/engine"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("redline-chi", "github.com/redline-go/redline", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return engine.ServeHTTP(ctx, ln, chiapp.Handler())
}
