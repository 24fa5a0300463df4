// Command uploads receives documents, and spools them for the archive.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A spool has the documents that the archive has not fetched.
type spool struct {
	dir  string
	mu   sync.Mutex
	next int
	jobs map[int]*job
}

type job struct {
	file *os.File
	sum  string
}

func main() {
	s := &spool{dir: service.File("spool"), jobs: map[int]*job{}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.HideBanner = true
	e.POST("/documents", func(c echo.Context) error {
		j, err := s.receive(io.LimitReader(c.Request().Body, 1<<20))
		if err != nil {
			return echo.NewHTTPError(http.StatusInternalServerError, "document was not stored")
		}
		id, err := s.queue(j)
		if err != nil {
			return echo.NewHTTPError(http.StatusInternalServerError, "document was not stored")
		}
		return c.JSON(http.StatusAccepted, map[string]string{"id": fmt.Sprint(id), "sha256": j.sum})
	})
	e.GET("/healthz", echo.WrapHandler(http.HandlerFunc(service.Health)))
	service.Main(e)
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// receive writes a document to a file.
func (s *spool) receive(body io.Reader) (*job, error) {
	f, err := os.CreateTemp(s.dir, "doc-*")
	if err != nil {
		return nil, fmt.Errorf("spool document: %w", err)
	}
	h := sha256.New()
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	if _, err := io.CopyBuffer(io.MultiWriter(f, h), body, buf[:]); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("spool document: %w", err)
	}
	return &job{file: f, sum: hex.EncodeToString(h.Sum(nil))}, nil
}
