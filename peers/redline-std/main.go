// Command redline-std is the subject on Redline's native API, transport std.
package main

import (
	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/native"
)

func main() { native.Main("redline-std", redline.TransportStd) }
