package std

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) { return New(c) },
		transporttest.Limits{LostBehindData: true, NoTakeover: true})
}
