package compat_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

// TestFileServer serves a directory and a file system in memory, with
// conditions and ranges.
func TestFileServer(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := when.Format(http.TimeFormat)
	dir := t.TempDir()
	inMemory := fstest.MapFS{}
	for name, n := range map[string]int{"small.txt": 100, "medium.html": 5000, "big.bin": 3 << 20, "empty.css": 0, "sub/index.html": 10} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, pattern(n), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		inMemory[name] = &fstest.MapFile{Data: pattern(n), ModTime: when, Mode: fs.ModePerm}
	}
	compare(t, func(t *testing.T, c carrier, r *report) {
		m := http.NewServeMux()
		m.Handle("/disk/", http.StripPrefix("/disk", http.FileServer(http.Dir(dir))))
		m.Handle("/memory/", http.StripPrefix("/memory", http.FileServerFS(inMemory)))
		m.Handle("/tagged/", http.StripPrefix("/tagged", tagged(http.FileServer(http.Dir(dir)))))
		s := c.start(t, m)
		for _, root := range []string{"/disk", "/memory"} {
			for _, name := range []string{"/", "/small.txt", "/medium.html", "/big.bin", "/empty.css", "/sub", "/sub/", "/sub/index.html", "/none", "/small.txt/"} {
				r.get(t, s, root+name)
				r.do(t, s, "HEAD", root+name, nil)
			}
			for _, ranges := range []string{"bytes=0-0", "bytes=4990-", "bytes=-1", "bytes=100-199,300-399", "bytes=1000000-2000000", "bytes=9000000-", "lines=1-2", "bytes=x"} {
				r.get(t, s, root+"/medium.html", "Range: "+ranges)
				r.get(t, s, root+"/big.bin", "Range: "+ranges)
			}
			r.get(t, s, root+"/small.txt", "If-Modified-Since: "+stamp)
			r.get(t, s, root+"/small.txt", "If-Modified-Since: "+when.Add(-time.Hour).Format(http.TimeFormat))
			r.get(t, s, root+"/small.txt", "If-Unmodified-Since: "+when.Add(-time.Hour).Format(http.TimeFormat))
			r.get(t, s, root+"/big.bin", "If-Range: "+stamp, "Range: bytes=5-9")
		}
		r.get(t, s, "/tagged/big.bin")
		r.get(t, s, "/tagged/big.bin", `If-None-Match: "1", W/"2"`)
		r.get(t, s, "/tagged/big.bin", `If-None-Match: "3"`)
		r.get(t, s, "/tagged/big.bin", `If-None-Match: *`)
		r.get(t, s, "/tagged/big.bin", `If-Match: "3"`)
		r.get(t, s, "/tagged/big.bin", `If-Range: "1"`, "Range: bytes=5-9")
		r.get(t, s, "/tagged/big.bin", `If-Range: "3"`, "Range: bytes=3145720-")
		playLengths(t, r, s)
	})
}

// tagged gives every file the same entity tag.
func tagged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Etag", `"1"`)
		h.ServeHTTP(w, q)
	})
}

// playLengths looks at the framing of files, whose length is always announced.
func playLengths(t *testing.T, r *report, s *service) {
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/disk/small.txt", "/disk/medium.html", "/disk/big.bin", "/disk/empty.css", "/memory/big.bin"} {
			req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			r.add("%s %s has length %d, encoding %q", method, path, resp.ContentLength, resp.TransferEncoding)
			r.answer(t, path, resp, nil)
		}
	}
}
