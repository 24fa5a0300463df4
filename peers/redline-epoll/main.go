// Command redline-epoll is the subject on Redline's native API, transport epoll.
package main

import (
	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/native"
)

func main() { native.Main("redline-epoll", redline.TransportEpoll) }
