package redline_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/redline-go/redline"
)

// twins are the hostile handlers once more, for net/http.
func (h *hostileHandlers) twins() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/id/{n}":     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path[len("/id/"):]) },
		"/echo":       echoHTTP,
		"/drop":       dropHTTP,
		"/sleep/{n}":  sleepHTTP,
		"/panic":      func(http.ResponseWriter, *http.Request) { panic("on purpose") },
		"/panic/late": func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond); panic("late, on purpose") },
		"/panic/midway": func(w http.ResponseWriter, _ *http.Request) {
			w.Write(make([]byte, 100<<10))
			panic("midway, on purpose")
		},
		"/abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/big": func(w http.ResponseWriter, _ *http.Request) {
			for i := range soakParts {
				if _, err := w.Write(soakWhole[i*soakPart : (i+1)*soakPart]); err != nil {
					return
				}
			}
		},
		"/static": func(w http.ResponseWriter, _ *http.Request) { w.Write(soakWhole) },
		"/bytes":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, soakText) },
		"/parts":  partsHTTP,
		"/file":   func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, h.file) },
		"/short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		},
		"/stream": streamHTTP,
		"/hijack": hijackHTTP,
	}
}

// either answers with one of two handlers for the same thing.
func either(native redline.HandlerFunc, std http.HandlerFunc) redline.HandlerFunc {
	adapted := redline.HTTP(std)
	return func(c *redline.Ctx) {
		if rand.IntN(2) == 0 {
			adapted(c)
		} else {
			native(c)
		}
	}
}

func echoHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "Bad Request", 400)
		return
	}
	w.Write(body)
}

// dropHTTP leaves a body to a goroutine that outlives it, or to nobody.
func dropHTTP(w http.ResponseWriter, r *http.Request) {
	read := func() { _, _ = r.Body.Read(make([]byte, 1+rand.IntN(64<<10))) } // the result does not matter
	if rand.IntN(2) == 0 {
		go read()
	} else {
		read()
	}
	if rand.IntN(4) == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	io.WriteString(w, "dropped")
}

func sleepHTTP(w http.ResponseWriter, r *http.Request) {
	d := time.Duration(rand.IntN(20)) * time.Millisecond
	if rand.IntN(2) == 0 {
		time.Sleep(d)
	} else {
		select {
		case <-r.Context().Done():
		case <-time.After(d):
		}
	}
	io.WriteString(w, r.URL.Path[len("/sleep/"):])
}

func streamHTTP(w http.ResponseWriter, r *http.Request) {
	most := 1 + rand.IntN(200)
	if rand.IntN(8) == 0 {
		most = 1 << 30 // endless
	}
	c := http.NewResponseController(w)
	for i := range most {
		if _, err := fmt.Fprintf(w, "%d\n", i); err != nil {
			return
		}
		if err := c.Flush(); err != nil {
			return
		}
		if rand.IntN(20) > 0 {
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// partsHTTP sends each part of the large answer on its own.
func partsHTTP(w http.ResponseWriter, _ *http.Request) {
	c := http.NewResponseController(w)
	for i := range soakParts {
		if _, err := w.Write(soakWhole[i*soakPart : (i+1)*soakPart]); err != nil {
			return
		}
		if err := c.Flush(); err != nil {
			return
		}
	}
}

// hijackHTTP echoes what comes, up to a line.
func hijackHTTP(w http.ResponseWriter, _ *http.Request) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(soakWait)); err != nil {
		return
	}
	if line, err := rw.ReadString('\n'); err == nil {
		_, _ = nc.Write([]byte(line)) // the client may have gone
	}
}
