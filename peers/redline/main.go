// Command redline is the subject on Redline's native API, transport auto.
package main

import (
	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/native"
)

func main() { native.Main("redline", redline.TransportAuto) }
