// Command tiles serves the tiles of a map from files.
package main

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	sheets    = 24
	sheetSize = 4 << 20
	tileSize  = 64 << 10
)

func main() {
	dir := service.File("tiles")
	if err := unpack(dir); err != nil {
		log.Fatal(err)
	}
	r := chi.NewRouter()
	// A tile anywhere in the world: what a screen saver asks for.
	r.Get("/tiles/any", func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open(filepath.Join(dir, sheet(rand.IntN(sheets))))
		if err != nil {
			http.Error(w, "no such tile", http.StatusNotFound)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", fmt.Sprint(tileSize))
		at := rand.Int64N(sheetSize/tileSize) * tileSize
		_, _ = io.Copy(w, io.NewSectionReader(f, at, tileSize))
	})
	r.Get("/healthz", service.Health)
	service.MainAdmin(r, http.DefaultServeMux)
}

func sheet(n int) string { return fmt.Sprintf("sheet-%02d.bin", n) }

// unpack writes the map that comes with the program.
func unpack(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("unpack map: %w", err)
	}
	pixels := make([]byte, sheetSize)
	for n := range sheets {
		for i := 0; i < len(pixels); i += 512 {
			pixels[i] = byte(n + i)
		}
		f, err := os.Create(filepath.Join(dir, sheet(n)))
		if err != nil {
			return fmt.Errorf("unpack map: %w", err)
		}
		_, err = f.Write(pixels)
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return fmt.Errorf("unpack map: %w", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("unpack map: %w", err)
		}
	}
	return nil
}
