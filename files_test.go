package redline_test

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

const secret = "SECRET"

// TestFilePaths asks for files by every trick that is known to have fooled
// somebody: CVE-2022-40082, fasthttp#2173, fasthttp#2321.
func TestFilePaths(t *testing.T) {
	parent, _ := tree(t, map[string]string{
		"secret": secret, "pub/a.txt": "a", "pub/b c.txt": "bc", "pub/d/index.html": "d", "pub/d/e.txt": "e",
		"pub/noindex/x": "x", "pub/.env": secret, "pub/.git/config": secret, "pub/.well-known/acme": "acme",
		"pub/index.html": "top", "pub/%2e%2e": "odd", "public/x": secret, "pub/a:b/index.html": "ab",
	})
	dir := filepath.Join(parent, "pub")
	for name, target := range map[string]string{
		"link": "a.txt", "out": "../secret", "abs": filepath.Join(parent, "secret"), "outdir": "..", "null": "/dev/null", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found := map[string]string{
		"/s/a.txt": "a", "/s/b%20c.txt": "bc", "/s/%61.txt": "a", "/s/d/": "d", "/s/d/e.txt": "e", "/s/": "top",
		"/s/index.html": "top", "/s/link": "a", "/s/.well-known/acme": "acme", "/s/a.txt?x=/../": "a",
		"/s/%252e%252e": "odd", "http://a/s/a.txt": "a", "/s/a:b/": "ab",
	}
	missing := []string{
		"/s/../secret", "/s/d/../../secret", "/s/%2e%2e/secret", "/s/%2E%2E/secret", "/s/.%2e/secret", "/s/%2e./secret",
		"/s/..%2fsecret", "/s/..%2Fsecret", "/s/%2e%2e%2fsecret", `/s/..\secret`, "/s/..%5csecret", "/s/..%5Csecret",
		"/s/d/..%5c..%5csecret", "/s//a.txt", "/s//", "/s//etc/passwd", "/s/%2fetc/passwd", "/s/%2Fetc%2Fpasswd",
		"/s/./a.txt", "/s/d/.", "/s/d/..", "/s/d//e.txt", "/s/d%2fe.txt", "/s/a.txt/", "/s/a.txt/x", "/s/a.txt%00",
		"/s/a.txt%00.html", "/s/%00", "/s/a%0d%0aX:y", "/s/%c0%ae%c0%ae/secret", "/s/%u002e", "/s/..;/secret", "/s/.../secret",
		"/s/%252e%252e/secret", "/s/%252e%252e%252fsecret", "/s/..%252fsecret", "/s/../public/x", "/s/..public/x",
		"/s/out", "/s/abs", "/s/outdir/secret", "/s/outdir/", "/s/null", "/s/loop", "/s/.env", "/s/%2eenv", "/s/.git/config",
		"/s/noindex/", "/s/noindex", "/s/none", "/s/" + strings.Repeat("x", 300), "/s/" + strings.Repeat("x/", 1000),
		"/s", "/../secret", "/s/~root", "/s/file:///etc/passwd", "/s/C:/windows", `/s/\\host\share`, "http://a/s/../secret",
	}
	onEach(t, func(t *testing.T, name redline.Transport) {
		srv := serve(t, &redline.Server{Transport: name, Native: mount(root, redline.FileOptions{})})
		for target, want := range found {
			if resp, body := fetch(t, srv, "GET", target); resp.StatusCode != 200 || body != want {
				t.Errorf("%s: %d %q", target, resp.StatusCode, body)
			}
		}
		for _, target := range missing {
			resp, body := fetch(t, srv, "GET", target)
			if resp.StatusCode != 404 && resp.StatusCode != 400 || strings.Contains(body, secret) || strings.Contains(body, "root:") {
				t.Errorf("%s: %d %q", target, resp.StatusCode, body)
			}
		}
		// A directory without its slash: its index has relative references.
		for target, want := range map[string]string{"/s/d": "./d/", "/s/d?a=b": "./d/?a=b", "/s/a:b": "./a:b/", "/s/%64": "./%64/"} {
			if resp, _ := fetch(t, srv, "GET", target); resp.StatusCode != 301 || resp.Header.Get("Location") != want {
				t.Errorf("%s: %d %q", target, resp.StatusCode, resp.Header.Get("Location"))
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"} {
			if resp, _ := fetch(t, srv, method, "/s/a.txt"); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %d %q", method, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
	})
}

// TestFileOptions goes through the options one by one.
func TestFileOptions(t *testing.T) {
	_, root := tree(t, map[string]string{
		"a.js": "a", "home.html": "home", "index.html": "index", ".env": "env", "x.unknownext": "x", "noext": "n", "p.html": "<p>",
	})
	type want struct {
		target, body string
		status       int
		header       [2]string // name and value; "" is none of that name
	}
	for name, tt := range map[string]struct {
		o     redline.FileOptions
		wants []want
	}{
		"default": {redline.FileOptions{}, []want{
			{"/s/a.js", "a", 200, [2]string{"X-Content-Type-Options", "nosniff"}},
			{"/s/a.js", "a", 200, [2]string{"Content-Type", "text/javascript; charset=utf-8"}},
			{"/s/a.js", "a", 200, [2]string{"Cache-Control", ""}},
			{"/s/a.js", "a", 200, [2]string{"Vary", ""}},
			{"/s/a.js", "a", 200, [2]string{"Accept-Ranges", "bytes"}},
			{"/s/a.js", "a", 200, [2]string{"Last-Modified", "Sun, 01 Jun 2025 12:00:00 GMT"}},
			{"/s/x.unknownext", "x", 200, [2]string{"Content-Type", "application/octet-stream"}},
			{"/s/noext", "n", 200, [2]string{"Content-Type", "application/octet-stream"}},
			{"/s/p.html", "<p>", 200, [2]string{"Content-Type", "text/html; charset=utf-8"}},
			{"/s/", "index", 200, [2]string{"Content-Type", "text/html; charset=utf-8"}},
			{"/s/none", "Not Found\n", 404, [2]string{"Accept-Ranges", ""}},
		}},
		"sniff": {redline.FileOptions{Sniff: true}, []want{{"/s/a.js", "a", 200, [2]string{"X-Content-Type-Options", ""}}}},
		"cache": {redline.FileOptions{CacheControl: "max-age=60"}, []want{
			{"/s/a.js", "a", 200, [2]string{"Cache-Control", "max-age=60"}},
			{"/s/none", "Not Found\n", 404, [2]string{"Cache-Control", ""}},
		}},
		"index":   {redline.FileOptions{Index: "home.html"}, []want{{"/s/", "home", 200, [2]string{"Vary", ""}}}},
		"noindex": {redline.FileOptions{NoIndex: true}, []want{{"/s/", "Not Found\n", 404, [2]string{"Vary", ""}}}},
		"dots":    {redline.FileOptions{DotFiles: true}, []want{{"/s/.env", "env", 200, [2]string{"Vary", ""}}}},
		"vary":    {redline.FileOptions{Precompressed: true}, []want{{"/s/a.js", "a", 200, [2]string{"Vary", "Accept-Encoding"}}}},
		"tag": {
			redline.FileOptions{ETag: func(i fs.FileInfo) string { return `W/"` + i.Name() + `"` }},
			[]want{{"/s/a.js", "a", 200, [2]string{"Etag", `W/"a.js"`}}},
		},
		"no tag": {redline.FileOptions{ETag: func(fs.FileInfo) string { return "" }}, []want{{"/s/a.js", "a", 200, [2]string{"Etag", ""}}}},
		"bad tag": {
			redline.FileOptions{ETag: func(fs.FileInfo) string { return "a\r\nX: y" }},
			[]want{{"/s/a.js", "Internal Server Error\n", 500, [2]string{"X", ""}}},
		},
		"not found": {
			redline.FileOptions{NotFound: func(c *redline.Ctx) { c.Text(410, "gone") }},
			[]want{{"/s/none", "gone", 410, [2]string{"X", ""}}, {"/s/%2e%2e/x", "gone", 410, [2]string{"X", ""}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, &redline.Server{Native: mount(root, tt.o)})
			for _, w := range tt.wants {
				resp, body := fetch(t, srv, "GET", w.target)
				if resp.StatusCode != w.status || body != w.body || resp.Header.Get(w.header[0]) != w.header[1] {
					t.Errorf("%s: %d %q %v", w.target, resp.StatusCode, body, resp.Header)
				}
			}
		})
	}
}

// TestFilePrecompressed picks variants by Accept-Encoding.
func TestFilePrecompressed(t *testing.T) {
	big := pattern(100_000)
	_, root := tree(t, map[string]string{
		"a.js": big, "a.js.br": "brotli" + big, "a.js.gz": "gzip", "d/index.html": "i", "d/index.html.zst": "zstd", "plain.css": "p",
	})
	onEach(t, func(t *testing.T, name redline.Transport) {
		srv := serve(t, &redline.Server{Transport: name, Native: mount(root, redline.FileOptions{Precompressed: true})})
		tags := map[string]string{}
		for _, tt := range []struct{ target, accept, body, coding, kind string }{
			{"/s/a.js", "", big, "", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: gzip, deflate, br", "brotli" + big, "br", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: gzip", "gzip", "gzip", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: br;q=0.1, gzip", "gzip", "gzip", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: gzip;q=0\r\nAccept-Encoding: br;q=0.001", "brotli" + big, "br", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: identity", big, "", "text/javascript; charset=utf-8"},
			{"/s/a.js", "Accept-Encoding: zstd", big, "", "text/javascript; charset=utf-8"},
			{"/s/d/", "Accept-Encoding: zstd", "zstd", "zstd", "text/html; charset=utf-8"},
			{"/s/plain.css", "Accept-Encoding: *", "p", "", "text/css; charset=utf-8"},
		} {
			lines := []string{"X-A: b"}
			if tt.accept != "" {
				lines = append(lines, tt.accept)
			}
			resp, body := fetch(t, srv, "GET", tt.target, lines...)
			h := resp.Header
			if resp.StatusCode != 200 || body != tt.body || h.Get("Content-Encoding") != tt.coding || h.Get("Content-Type") != tt.kind || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s %q: %d, %d bytes, %v", tt.target, tt.accept, resp.StatusCode, len(body), h)
			}
			key := tt.target + tt.coding
			if known, ok := tags[h.Get("Etag")]; ok && known != key {
				t.Errorf("%s and %s have the same tag", known, key)
			}
			tags[h.Get("Etag")] = key

			// The tag belongs to the variant: with it, and as a condition.
			resp, body = fetch(t, srv, "GET", tt.target, append(lines, "If-None-Match: "+h.Get("Etag"))...)
			if resp.StatusCode != 304 || body != "" || resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Etag") != h.Get("Etag") || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s %q again: %d %v", tt.target, tt.accept, resp.StatusCode, resp.Header)
			}
			// Ranges are of the variant.
			resp, body = fetch(t, srv, "GET", tt.target, append(lines, "Range: bytes=0-0", "If-Range: "+h.Get("Etag"))...)
			if resp.StatusCode != 206 || body != tt.body[:1] || resp.Header.Get("Content-Encoding") != tt.coding {
				t.Errorf("%s %q range: %d %q %v", tt.target, tt.accept, resp.StatusCode, body, resp.Header)
			}
		}
	})
}

// TestFileWithoutRouter serves a file server as the whole server, and one by a
// route that names a single file.
func TestFileWithoutRouter(t *testing.T) {
	_, root := tree(t, map[string]string{"a.txt": "a", "d/b.txt": "b", "index.html": "i"})
	files := redline.FileServer(root, redline.FileOptions{})
	srv := serve(t, &redline.Server{Native: files})
	for target, want := range map[string]string{"/": "i", "/a.txt": "a", "/d/b.txt": "b", "http://a": "i"} {
		if resp, body := fetch(t, srv, "GET", target); resp.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q", target, resp.StatusCode, body)
		}
	}
	r := redline.NewRouter()
	r.GET("/d/b.txt", files)
	r.GET("/x/{id}/{rest...}", files)
	srv = serve(t, &redline.Server{Native: r.Serve})
	for target, want := range map[string]int{"/d/b.txt": 200, "/x/1/d/b.txt": 200, "/x/1/": 200, "/x/d/b.txt": 404, "/x/..%2f/a.txt": 200} {
		if resp, _ := fetch(t, srv, "GET", target); resp.StatusCode != want {
			t.Errorf("%s: %d", target, resp.StatusCode)
		}
	}
}

// TestServeFile answers with a file that the handler chose.
func TestServeFile(t *testing.T) {
	dir, _ := tree(t, map[string]string{"a.txt": "0123456789", "big": pattern(20_000)})
	r := redline.NewRouter()
	r.GET("/{mode}/{name}", func(c *redline.Ctx) {
		f, err := os.Open(filepath.Join(dir, c.Param("name")))
		if err != nil {
			c.Error(404)
			return
		}
		defer f.Close()
		switch c.Param("mode") {
		case "set":
			for name, value := range map[string]string{"ETag": `"v1"`, "Content-Type": "image/png"} {
				if err := c.SetHeader(name, value); err != nil {
					panic(err)
				}
			}
		case "bad":
			if err := c.SetHeader("ETag", "v1"); err != nil {
				panic(err)
			}
		case "dir":
			if f, err = os.Open(dir); err != nil {
				panic(err)
			}
			defer f.Close()
		}
		if err := c.ServeFile(f); err != nil {
			c.Error(500)
		}
	})
	srv := serve(t, &redline.Server{Native: r.Serve})
	for _, tt := range []struct {
		target, line, body, kind, tag string
		status                        int
	}{
		{"/plain/a.txt", "", "0123456789", "text/plain; charset=utf-8", "", 200},
		{"/set/a.txt", "", "0123456789", "image/png", `"v1"`, 200},
		{"/set/a.txt", "Range: bytes=2-3", "23", "image/png", `"v1"`, 206},
		{"/set/a.txt", `If-None-Match: "v1"`, "", "", `"v1"`, 304},
		{"/set/a.txt", `If-Match: "v2"`, "Precondition Failed\n", "text/plain; charset=utf-8", `"v1"`, 412},
		{"/set/big", "", pattern(20_000), "image/png", `"v1"`, 200},
		{"/bad/a.txt", "", "Internal Server Error\n", "text/plain; charset=utf-8", "", 500},
		{"/dir/a.txt", "", "Internal Server Error\n", "text/plain; charset=utf-8", "", 500},
	} {
		lines := []string{"X-A: b"}
		if tt.line != "" {
			lines = append(lines, tt.line)
		}
		resp, body := fetch(t, srv, "GET", tt.target, lines...)
		if resp.StatusCode != tt.status || body != tt.body || resp.Header.Get("Content-Type") != tt.kind || tt.tag != "" && resp.Header.Get("Etag") != tt.tag || len(resp.Header.Values("Etag")) > 1 {
			t.Errorf("%s %s: %d, %d bytes, %v", tt.target, tt.line, resp.StatusCode, len(body), resp.Header)
		}
	}
}

// TestFilesPathless asks a file server for the root of a host without its slash.
func TestFilesPathless(t *testing.T) {
	_, root := tree(t, map[string]string{"index.html": "the index"})
	files := redline.FileServer(root, redline.FileOptions{})
	router := redline.NewRouter()
	router.GET("/{path...}", files)
	for name, h := range map[string]redline.HandlerFunc{"routed": router.Serve, "alone": files} {
		onEach(t, func(t *testing.T, transport redline.Transport) {
			r := serve(t, &redline.Server{Transport: transport, Native: h})
			for _, target := range []string{"http://a", "http://a?q=1", "/"} {
				if resp, body := fetch(t, r, "GET", target); resp.StatusCode != 200 || body != "the index" {
					t.Errorf("%s: GET %s: %v %q", name, target, resp, body)
				}
			}
		})
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequest("GET", "http://a", nil)
	req.URL.Path = ""
	redline.HandlerFunc(router.Serve).ServeHTTP(w, req)
	if w.Code != 200 || w.Body.String() != "the index" {
		t.Errorf("under net/http: %d %q", w.Code, w.Body)
	}
}
