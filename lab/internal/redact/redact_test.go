package redact

import (
	"slices"
	"strings"
	"testing"
)

// TestArgs checks that credentials are replaced and all else is kept.
func TestArgs(t *testing.T) {
	for in, want := range map[string]string{
		"load|-H|Authorization: Bearer s3cret|http://h/":                     "load|-H|Authorization: REDACTED|http://h/",
		"load|--header|Cookie: sid=s3cret|-c|5":                              "load|--header|Cookie: REDACTED|-c|5",
		"load|--header=X-Api-Key: s3cret":                                    "load|--header=X-Api-Key: REDACTED",
		"load|-HProxy-Authorization:s3cret":                                  "load|-HProxy-Authorization: REDACTED",
		"load|-H|Accept: text/html|-H|Authorization:s3cret":                  "load|-H|Accept: text/html|-H|Authorization: REDACTED",
		"load|http://ann:s3cret@h:80/a?b=1&access_token=s3cret&c=2":          "load|http://ann:REDACTED@h:80/a?b=1&access_token=REDACTED&c=2",
		"load|--bus|nats://ann:s3cret@h:4222|--workers|3":                    "load|--bus|nats://ann:REDACTED@h:4222|--workers|3",
		"load|--export|otlp=https://ann:s3cret@h/x?token=s3cret":             "load|--export|otlp=https://ann:REDACTED@h/x?token=REDACTED",
		"load|--export=remote-write=http://ann:s3cret@h:1/w":                 "load|--export=remote-write=http://ann:REDACTED@h:1/w",
		"load|--bus=nats://ann:s3cret@h:4222":                                "load|--bus=nats://ann:REDACTED@h:4222",
		"load|--check|header X-Token equals s3cret":                          "load|--check|header X-Token equals REDACTED",
		"bench|--jwt-key|s3cret|--out|dir":                                   "bench|--jwt-key|REDACTED|--out|dir",
		"load|-r|2000|--arrivals|poisson|--find|p99<10ms|http://h/?q=%20a+b": "load|-r|2000|--arrivals|poisson|--find|p99<10ms|http://h/?q=%20a+b",
	} {
		args := strings.Split(in, "|")
		got := Args(args)
		if text := strings.Join(got, "|"); text != want || strings.Contains(text, "s3cret") {
			t.Errorf("%s\n got %s\nwant %s", in, text, want)
		}
		if !slices.Equal(args, strings.Split(in, "|")) {
			t.Errorf("%s: Args changed its argument", in)
		}
	}
}

// TestText checks free text, such as that of an error.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"GET http://h/p?token=s3cret&a=1 answers with status 404":           "GET http://h/p?token=REDACTED&a=1 answers with status 404",
		`open "http://ann:s3cret@h/": refused, see http://b:x@c/`:           `open "http://ann:REDACTED@h/": refused, see http://b:REDACTED@c/`,
		"GET /b?session=s3cret&jwt=s3cret":                                  "GET /b?session=REDACTED&jwt=REDACTED",
		"https://blob/x?sv=1&sig=s3cret&sid=s3cret&pass=s3cret#code=s3cret": "https://blob/x?sv=1&sig=REDACTED&sid=REDACTED&pass=REDACTED#code=REDACTED",
		"header Set-Cookie contains s3cret":                                 "header Set-Cookie contains REDACTED",
		"header Content-Type equals text/html, p99<10ms, a=b, x:y":          "header Content-Type equals text/html, p99<10ms, a=b, x:y",
		"user ann@example.org at http://h:80/a@b?q=a%20b":                   "user ann@example.org at http://h:80/a@b?q=a%20b",
		"": "",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}
