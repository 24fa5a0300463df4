// Command redline-uring is the subject on Redline's native API, transport uring.
package main

import (
	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/native"
)

func main() { native.Main("redline-uring", redline.TransportUring) }
