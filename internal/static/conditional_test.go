package static

import (
	"testing"
	"time"
)

const (
	before = "Sun, 01 Jun 2025 11:59:59 GMT"
	exact  = "Sun, 01 Jun 2025 12:00:00 GMT"
	after  = "Sun, 01 Jun 2025 12:00:01 GMT"
)

var modified = time.Date(2025, 6, 1, 12, 0, 0, 5e8, time.UTC)

func TestEvaluate(t *testing.T) {
	tests := []struct {
		name string
		c    Conditions
		tag  string
		want Outcome
	}{
		{"none", Conditions{}, `"a"`, Proceed},
		{"match", Conditions{IfMatch: `"a"`}, `"a"`, Proceed},
		{"match in list", Conditions{IfMatch: `"x" , W/"y","a"`}, `"a"`, Proceed},
		{"match star", Conditions{IfMatch: "*"}, `"a"`, Proceed},
		{"match star without tag", Conditions{IfMatch: "*"}, "", Proceed},
		{"match other", Conditions{IfMatch: `"b"`}, `"a"`, Failed},
		{"match without tag", Conditions{IfMatch: `"b"`}, "", Failed},
		{"match is strong", Conditions{IfMatch: `W/"a"`}, `"a"`, Failed},
		{"match is strong, too", Conditions{IfMatch: `"a"`}, `W/"a"`, Failed},
		{"match malformed", Conditions{IfMatch: `a`}, `"a"`, Failed},
		{"match unquoted", Conditions{IfMatch: `"a`}, `"a"`, Failed},
		{"match without comma", Conditions{IfMatch: `"x" "a"`}, `"a"`, Failed},
		{"match goes before date", Conditions{IfMatch: `"a"`, IfUnmodifiedSince: before}, `"a"`, Proceed},
		{"unmodified", Conditions{IfUnmodifiedSince: exact}, `"a"`, Proceed},
		{"unmodified later", Conditions{IfUnmodifiedSince: after}, `"a"`, Proceed},
		{"unmodified earlier", Conditions{IfUnmodifiedSince: before}, `"a"`, Failed},
		{"unmodified, no date", Conditions{IfUnmodifiedSince: "yesterday"}, `"a"`, Proceed},
		{"none match", Conditions{IfNoneMatch: `"a"`}, `"a"`, NotModified},
		{"none match is weak", Conditions{IfNoneMatch: `W/"a"`}, `"a"`, NotModified},
		{"none match is weak, too", Conditions{IfNoneMatch: `"a"`}, `W/"a"`, NotModified},
		{"none match star", Conditions{IfNoneMatch: "*"}, `"a"`, NotModified},
		{"none match other", Conditions{IfNoneMatch: `"b"`}, `"a"`, Proceed},
		{"none match empty tag", Conditions{IfNoneMatch: `""`}, `""`, NotModified},
		{"none match comma inside", Conditions{IfNoneMatch: `"x,y", "a"`}, `"a"`, NotModified},
		{"none match goes before date", Conditions{IfNoneMatch: `"b"`, IfModifiedSince: exact}, `"a"`, Proceed},
		{"modified", Conditions{IfModifiedSince: exact}, `"a"`, NotModified},
		{"modified later", Conditions{IfModifiedSince: after}, `"a"`, NotModified},
		{"modified earlier", Conditions{IfModifiedSince: before}, `"a"`, Proceed},
		{"modified, no date", Conditions{IfModifiedSince: "0"}, `"a"`, Proceed},
		{"failed goes before not modified", Conditions{IfMatch: `"b"`, IfNoneMatch: `"a"`}, `"a"`, Failed},
		{"both hold", Conditions{IfMatch: `"a"`, IfNoneMatch: `"a"`}, `"a"`, NotModified},
		{"dates", Conditions{IfUnmodifiedSince: exact, IfModifiedSince: exact}, `"a"`, NotModified},
	}
	for _, tt := range tests {
		if got := tt.c.Evaluate(tt.tag, modified); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	for _, unknown := range []time.Time{{}, time.Unix(0, 0)} {
		c := Conditions{IfUnmodifiedSince: before, IfModifiedSince: after}
		if got := c.Evaluate("", unknown); got != Proceed {
			t.Errorf("time not known: %d", got)
		}
	}
}

func TestRangeApplies(t *testing.T) {
	for _, tt := range []struct {
		field, tag string
		want       bool
	}{
		{"", `"a"`, true},
		{`"a"`, `"a"`, true},
		{`"b"`, `"a"`, false},
		{`W/"a"`, `"a"`, false},
		{`W/"a"`, `W/"a"`, false}, // strong comparison
		{`"a"`, `W/"a"`, false},
		{`"a"`, "", false},
		{exact, `"a"`, true},
		{before, `"a"`, false},
		{after, `"a"`, false}, // exactly
		{"a", `"a"`, false},
	} {
		c := Conditions{IfRange: tt.field}
		if got := c.RangeApplies(tt.tag, modified); got != tt.want {
			t.Errorf("%q of %q: %v", tt.field, tt.tag, got)
		}
	}
}

func TestValidTag(t *testing.T) {
	for s, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `""`: true, `"é"`: true, "": false, "a": false, `"a`: false, `W/`: false,
		`w/"a"`: false, `"a"b`: false, `"a b"`: false, "\"\n\"": false, `"`: false, "\"\x7f\"": false,
	} {
		if got := ValidTag(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func FuzzConditions(f *testing.F) {
	f.Add(`"a", W/"b"`, `"a"`)
	f.Add(`W/`, `W/"a"`)
	f.Add(exact, "")
	f.Fuzz(func(t *testing.T, field, tag string) {
		if tag != "" && !ValidTag(tag) {
			return
		}
		c := Conditions{IfMatch: field, IfNoneMatch: field, IfRange: field}
		out := c.Evaluate(tag, modified)
		if out == Proceed && field != "" {
			t.Fatalf("%q of %q: it both matches and does not", field, tag)
		}
		if c.RangeApplies(tag, modified) && field != "" && field[0] == '"' && out != NotModified {
			t.Fatalf("%q of %q: If-Range holds, If-Match does not", field, tag)
		}
	})
}
