package subject

import (
	"runtime"
	"testing"
)

func TestTitle(t *testing.T) {
	tests := []struct{ name, module, want string }{
		{"nethttp", "net/http", "net/http " + runtime.Version()},
		{"limit", "", "limit " + runtime.Version()},
		{"other", "example.com/other/v2", "other (unknown version)"},
	}
	for _, test := range tests {
		if got := Title(test.name, test.module); got != test.want {
			t.Errorf("Title(%q, %q) = %q, want %q", test.name, test.module, got, test.want)
		}
	}
}
