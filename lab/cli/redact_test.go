package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestRedact checks that credentials are replaced and all else is kept.
func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"load|-H|Authorization: Bearer s3cret|http://h/":                     "load|-H|Authorization: REDACTED|http://h/",
		"load|--header|Cookie: sid=s3cret|-c|5":                              "load|--header|Cookie: REDACTED|-c|5",
		"load|--header=X-Api-Key: s3cret":                                    "load|--header=X-Api-Key: REDACTED",
		"load|-HProxy-Authorization:s3cret":                                  "load|-HProxy-Authorization: REDACTED",
		"load|-H|Accept: text/html|-H|Authorization:s3cret":                  "load|-H|Accept: text/html|-H|Authorization: REDACTED",
		"load|http://ann:s3cret@h:80/a?b=1&access_token=s3cret&c=2":          "load|http://ann:REDACTED@h:80/a?b=1&access_token=REDACTED&c=2",
		"load|--bus|nats://ann:s3cret@h:4222|--workers|3":                    "load|--bus|nats://ann:REDACTED@h:4222|--workers|3",
		"load|--bus=nats://ann:s3cret@h:4222":                                "load|--bus=nats://ann:REDACTED@h:4222",
		"bench|--jwt-key|s3cret|--out|dir":                                   "bench|--jwt-key|REDACTED|--out|dir",
		"load|-r|2000|--arrivals|poisson|--find|p99<10ms|http://h/?q=%20a+b": "load|-r|2000|--arrivals|poisson|--find|p99<10ms|http://h/?q=%20a+b",
	} {
		args := strings.Split(in, "|")
		got := Redact(args)
		if text := strings.Join(got, "|"); text != want || strings.Contains(text, "s3cret") {
			t.Errorf("%s\n got %s\nwant %s", in, text, want)
		}
		if !slices.Equal(args, strings.Split(in, "|")) {
			t.Errorf("%s: Redact changed its argument", in)
		}
	}
}
