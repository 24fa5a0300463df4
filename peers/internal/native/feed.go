package native

import (
	"context"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/subject"
)

func feed(ctx context.Context, c *redline.Ctx) {
	f, err := subject.ParseFeed(c.Query("interval"), c.Query("size"), c.Query("format"))
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	periodic(ctx, c, f.Type, f.Interval, f.NewTicks().Next)
}

// periodic answers with what next returns, at once and then each interval, on a goroutine of
// its own.
func periodic(ctx context.Context, c *redline.Ctx, contentType string, interval time.Duration, next func(time.Time) []byte) {
	if err := c.SetHeader("Content-Type", contentType); err != nil {
		c.Error(500)
		return
	}
	c.Stream(func(w *redline.Stream) {
		defer w.Close()
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			if _, err := w.Write(next(time.Now())); err != nil {
				return
			}
			select {
			case <-ticks.C:
			case <-w.Context().Done():
				return
			case <-ctx.Done():
				return
			}
		}
	})
}
