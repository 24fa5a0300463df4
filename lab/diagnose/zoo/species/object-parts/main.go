// Command object-parts takes objects in parts, as stores of objects do, and answers the tag of each
// part. It keeps the tags alone: the bytes belong to another service.
package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	maxPart  = 5 << 20
	maxParts = 1000
	objects  = 10_000 // that may be under way
)

var (
	errSize  = errors.New("a part has at most 5 MiB")
	errFull  = errors.New("too many objects are under way: complete some")
	checksum = crc32.MakeTable(crc32.Castagnoli)
)

// part is what is known of a part.
type part struct {
	size int64
	tag  uint32
}

// Uploads are the objects that are under way.
type Uploads struct {
	mu   sync.Mutex
	open map[string]map[int]part
}

// put keeps a part, in place of the one with its number.
func (u *Uploads) put(key string, number int, p part) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	parts := u.open[key]
	if parts == nil {
		if len(u.open) >= objects {
			return errFull
		}
		parts = map[int]part{}
		u.open[key] = parts
	}
	parts[number] = p
	return nil
}

// sum reads a part to its end.
func sum(body io.Reader, block []byte) (p part, err error) {
	for {
		n, err := body.Read(block)
		p.tag = crc32.Update(p.tag, checksum, block[:n])
		if p.size += int64(n); p.size > maxPart {
			return p, errSize
		}
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
}

func (u *Uploads) receive(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.URL.Query().Get("part"))
	if err != nil || number < 1 || number > maxParts {
		http.Error(w, "part is a number from 1 to 1000", http.StatusBadRequest)
		return
	}
	p, err := read(r.Body)
	if err == nil {
		err = u.put(chi.URLParam(r, "bucket")+"/"+chi.URLParam(r, "key"), number, p)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	tag := binary.BigEndian.AppendUint32(nil, p.tag)
	w.Header().Set("ETag", `"`+hex.EncodeToString(tag)+`"`)
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	u := &Uploads{open: map[string]map[int]part{}}
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Put("/{bucket}/{key}", u.receive)
	r.HandleFunc("/debug/pprof/*", pprof.Index)
	r.HandleFunc("/debug/pprof/profile", pprof.Profile)
	r.HandleFunc("/debug/pprof/trace", pprof.Trace)
	service.Main(r)
}
