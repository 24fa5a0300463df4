package echoapp

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/redline-go/redline/peers/internal/topics"
)

// push is the subscribers of the service.
type push struct{ topics topics.Topics }

func bad(err error) error { return echo.NewHTTPError(http.StatusBadRequest, err.Error()) }

func (p *push) events(c echo.Context) error {
	topic, err := subject.Topic(c.QueryParam("topic"))
	if err != nil {
		return bad(err)
	}
	s := p.topics.Join(topic)
	defer s.Leave()
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, subject.EventStream)
	w.Header().Set(echo.HeaderCacheControl, "no-cache")
	w.WriteHeader(http.StatusOK)
	for {
		w.Flush() // the head, at first
		select {
		case <-c.Request().Context().Done():
			return nil
		case event := <-s.Events:
			if err := writeAll(w, event, s.Events); err != nil {
				return err
			}
		}
	}
}

// writeAll writes an event, and those that wait behind it.
func writeAll(w io.Writer, event []byte, more <-chan []byte) error {
	for {
		if _, err := w.Write(event); err != nil {
			return err
		}
		select {
		case event = <-more:
		default:
			return nil
		}
	}
}

func (p *push) publish(c echo.Context) error {
	topic, err := subject.Topic(c.QueryParam("topic"))
	if err != nil {
		return bad(err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, subject.MaxPublish))
	if err != nil {
		return bad(err)
	}
	event, err := subject.Published(body)
	if err != nil {
		return bad(err)
	}
	p.topics.Publish(topic, event)
	return c.NoContent(http.StatusNoContent)
}

func feed(c echo.Context) error {
	spec, err := subject.ParseFeed(c.QueryParam("interval"), c.QueryParam("size"), c.QueryParam("format"))
	if err != nil {
		return bad(err)
	}
	return periodic(c, spec.Type, spec.Interval, spec.NewTicks().Next)
}

// periodic answers with what next returns, at once and then each interval.
func periodic(c echo.Context, contentType string, interval time.Duration, next func(time.Time) []byte) error {
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, contentType)
	w.Header().Set(echo.HeaderCacheControl, "no-cache")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := w.Write(next(time.Now())); err != nil {
			return err
		}
		w.Flush()
		select {
		case <-c.Request().Context().Done():
			return nil
		case <-ticker.C:
		}
	}
}
