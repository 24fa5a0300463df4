// Command thumbnails serves small versions of the pictures that it holds in memory.
package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	pictures = 16
	width    = 512
	height   = 512
	small    = 32 // width and height of a thumbnail
)

// Picture is a picture with four bytes a pixel.
type Picture struct{ pixels []byte }

func load(seed uint64) *Picture {
	random := rand.New(rand.NewPCG(seed, seed))
	p := &Picture{pixels: make([]byte, width*height*4)}
	for i := range p.pixels {
		p.pixels[i] = byte(i>>6) + byte(random.IntN(32))
	}
	return p
}

// flip draws the picture upside down on a canvas of its size, in lines that are a step apart.
func (p *Picture) flip(canvas []byte, step int) {
	const row = width * 4
	for y := 0; y < height; y += step {
		copy(canvas[y*row:(y+1)*row], p.pixels[(height-1-y)*row:])
	}
}

// shrink appends every sixteenth pixel of every sixteenth line.
func shrink(to, canvas []byte) []byte {
	for y := 0; y < height; y += height / small {
		for x := 0; x < width; x += width / small {
			at := (y*width + x) * 4
			to = append(to, canvas[at:at+3]...)
		}
	}
	return to
}

func main() {
	album := make([]*Picture, pictures)
	for i := range album {
		album[i] = load(uint64(i))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /thumbnail", func(w http.ResponseWriter, r *http.Request) {
		i := rand.IntN(pictures)
		if id := r.URL.Query().Get("id"); id != "" {
			var err error
			if i, err = strconv.Atoi(id); err != nil || i < 0 || i >= pictures {
				http.Error(w, "no such picture", http.StatusNotFound)
				return
			}
		}
		w.Header().Set("Content-Type", "image/x-portable-pixmap")
		_, _ = w.Write([]byte("P6 32 32 255\n"))
		thumbnail(w, album[i])
	})
	service.Main(mux)
}
