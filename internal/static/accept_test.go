package static

import (
	"strings"
	"testing"
)

func TestCodings(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                    "",
		"gzip":                                "gzip",
		"gzip, deflate, br, zstd":             "br zstd gzip",
		"gzip;q=1.0, br;q=0.5":                "gzip br",
		"br;q=0.2, zstd;q=0.3, gzip;q=0.1":    "zstd br gzip",
		"GZip":                                "gzip",
		"x-gzip":                              "gzip",
		"*":                                   "br zstd gzip",
		"*;q=0":                               "",
		"*;q=0, gzip":                         "gzip",
		"gzip;q=0, *":                         "br zstd",
		"br;q=0":                              "",
		"br;q=0.0":                            "",
		"br;q=0.000":                          "",
		"br;q=0.001":                          "br",
		"identity":                            "",
		"identity;q=0, gzip":                  "gzip",
		"identity, gzip;q=0.5":                "",
		"identity;q=0.5, gzip;q=0.5":          "gzip",
		"identity;q=0.5, gzip, br;q=0.1":      "gzip",
		"gzip;q=2":                            "",
		"gzip;q=1.001":                        "",
		"gzip;q=0.1234":                       "",
		"gzip;q=":                             "",
		"gzip;q=.5":                           "",
		"gzip;q=-1":                           "",
		"gzip ; Q=0.5":                        "gzip",
		",, gzip ,":                           "gzip",
		"gzipx, brr":                          "",
		strings.Repeat("a,", 10_000) + "gzip": "gzip",
	} {
		list, n := Codings(accept)
		names := make([]string, n)
		for i := range names {
			names[i] = list[i].Name
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%.60q: %q, want %q", accept, got, want)
		}
	}
}

func TestBestType(t *testing.T) {
	offered := []string{"application/json", "text/html", "text/plain; charset=utf-8"}
	for accept, want := range map[string]int{
		"":                                 -1,
		"*/*":                              0,
		"text/*":                           1,
		"text/html":                        1,
		"TEXT/HTML":                        1,
		"text/plain":                       2,
		"text/plain;charset=utf-8":         2,
		"text/plain;charset=latin1":        -1,
		"text/html;q=0.5, text/plain":      2,
		"text/*;q=0.5, */*;q=0.1":          1,
		"text/html;q=0, text/*":            2,
		"text/*, text/html;q=0":            2,
		"application/json;q=0.2, text/*":   1,
		"image/png":                        -1,
		"*/*;q=0":                          -1,
		"*/*, application/json;q=0.9":      1,
		`text/html;x="a,b;q=0", text/html`: 1,
		"text/html;q=bad":                  -1,
		"text":                             -1,
		"/":                                -1,
		"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8": 1,
	} {
		if got := BestType(accept, offered); got != want {
			t.Errorf("%q: %d, want %d", accept, got, want)
		}
	}
}

func FuzzAccept(f *testing.F) {
	for _, s := range []string{"gzip, br;q=0.5", "*;q=0", `text/html;a="\",";q=1`, "*/*;q=0.001", ";;,;q="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		list, n := Codings(accept)
		for i := range n {
			w := weightOf(accept, list[i].Name, list[i].Name, true)
			if list[i].Name == "gzip" {
				w = weightOf(accept, "gzip", "x-gzip", true)
			}
			if w <= 0 || w > 1000 {
				t.Fatalf("%q: %s has weight %d", accept, list[i].Name, w)
			}
		}
		if i := BestType(accept, []string{"text/html", "a/b"}); i < -1 || i > 1 || i >= 0 && typeWeight(accept, []string{"text/html", "a/b"}[i]) <= 0 {
			t.Fatalf("%q: %d", accept, i)
		}
		if !strings.ContainsAny(accept, `"`) && n > 0 && !strings.ContainsAny(strings.ToLower(accept), "bzg*") {
			t.Fatalf("%q: %d codings from nothing", accept, n)
		}
	})
}
