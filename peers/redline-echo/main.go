// Command redline-echo is the subject that runs the very handlers of subject
// echo on Redline.
package main

import (
	"context"
	"net"

	"github.com/redline-go/redline/peers/internal/echoapp"
	"github.com/redline-go/redline/peers/internal/engine"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("redline-echo", "github.com/redline-go/redline", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	return engine.ServeHTTP(ctx, ln, echoapp.Handler())
}
