package tlsio

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/epoll"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

func TestConformanceEpoll(t *testing.T) {
	conformance(t, transporttest.Limits{}, func(c transport.Config) (transport.Transport, error) { return epoll.New(c) })
}
