package report

import "testing"

func TestFormats(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"small figure", figure(0.426), "0.43"},
		{"rounds up a digit", figure(9.996), "10.0"},
		{"three digits", figure(99.96), "100"},
		{"large figure", figure(1370.4), "1370"},
		{"micros", Micros(281.4, ""), "281µs"},
		{"two digits of micros", Micros(28.14, " "), "28.1 µs"},
		{"nearly a millisecond", Micros(999.8, " "), "1.00 ms"},
		{"seconds", Micros(12.34e6, " "), "12.3 s"},
		{"bytes", Bytes(21.4*(1<<20), " "), "21.4 MiB"},
		{"bytes, short", Bytes(1.5*(1<<30), ""), "1.50G"},
		{"few bytes", Bytes(96, " "), "96.0 B"},
		{"slow rate", PerSecond(940), "940"},
		{"rate", PerSecond(241_300), "241k"},
		{"fast rate", PerSecond(4.03e6), "4.03M"},
		{"nearly a million", PerSecond(999_900), "1.00M"},
		{"no allocations", count(0), "0"},
		{"allocations", count(13.5), "13.5"},
		{"odd allocations", count(2.0 / 3), "0.67"},
		{"tiny allocations", count(0.00001), "0"},
		{"many allocations", count(1370), "1.37k"},
		{"percent", Percent(0.021), "2.1 %"},
		{"no quantile", Quantile(nil, " "), none},
		{"invalid UTF-8", clean("a\xffb\uFFFD"), "a\\xffb\uFFFD"},
		{"escapes", clean("\x1b[2J\u202e\u2028\ttab\n"), "\\x1b[2J\\u202e\\u2028\ttab\n"},
		{"one line", Line("  two\n\tlines "), "two lines"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
}
