package screen

import (
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	for width, want := range map[int]int{0: 100, 5: 20, 48: 48, 100: 100, 140: 100} {
		if got := (Screen{Width: width}).Columns(); got != want {
			t.Errorf("width %d: %d columns, want %d", width, got, want)
		}
	}
}

func TestPaint(t *testing.T) {
	for _, c := range []struct {
		s          Screen
		style      Style
		body, want string
	}{
		{Screen{}, Bad, "text", "text"},
		{Screen{Color: true}, Bad, "text", "\x1b[31mtext\x1b[0m"},
		{Screen{Color: true}, "", "text", "text"},
		{Screen{Color: true}, Bad, "", ""},
		{Screen{Color: true}, Bold, "two\nlines\n", "\x1b[1mtwo\x1b[0m\n\x1b[1mlines\x1b[0m\n"},
	} {
		if got := c.s.Paint(c.style, c.body); got != c.want {
			t.Errorf("%+v, %q of %q: %q, want %q", c.s, c.style, c.body, got, c.want)
		}
	}
}

func TestParagraph(t *testing.T) {
	s := Screen{Width: 24, Color: true}
	want := s.Paint(Good, "kept    ") + "p99<10ms: it is\n        2.00 ms\n"
	if got := s.Paragraph(s.Paint(Good, "kept    "), "        ", "p99<10ms: it is 2.00 ms"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for l := range strings.Lines(s.Paragraph("", "  ", strings.Repeat("unbroken", 9))) {
		if n := Width(strings.TrimSuffix(l, "\n")); n > 24 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
}

// table is one of figures, with a long name, a colour and a remark.
func table(name string, columns int) *Table {
	list := []Column{{Head: "name", Width: 20}}
	cells := []string{name}
	for i := range columns {
		list = append(list, Column{Head: []string{"mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"}[i], Width: 10, Left: i == 6})
		cells = append(cells, []string{"600 µs", "600 µs", "1.00 ms", Screen{Color: true}.Paint(Bad, "1.09 ms"), "1.10 ms", "–", "1.10 ms"}[i])
	}
	t := NewTable(list...)
	t.Row(cells...)
	t.Remark(func(s Screen) string { return s.Paragraph("  ", "  ", "a remark on the row above") })
	return t
}

func TestTable(t *testing.T) {
	long := "the name of a target that is long"
	for _, c := range []struct {
		about   string
		name    string
		columns int
		width   int
		want    string
	}{
		{"room for all", "latency", 2, 0, "name                      mean       p50\nlatency                 600 µs    600 µs\n  a remark on the row above\n"},
		{"no spare width", "latency", 3, 48, "name       mean     p50      p90\nlatency  600 µs  600 µs  1.00 ms\n  a remark on the row above\n"},
		{"a long name", long, 3, 48, "name                       mean     p50      p90\n" + long + "\n                         600 µs  600 µs  1.00 ms\n  a remark on the row above\n"},
		{
			"bands", "latency", 7, 30,
			"name       mean     p50\nlatency  600 µs  600 µs\n\n" +
				"name         p90      p99\nlatency  1.00 ms  \x1b[31m1.09 ms\x1b[0m\n\n" +
				"name       p99.9  p99.99\nlatency  1.10 ms       –\n\n" +
				"name     max\nlatency  1.10 ms\n  a remark on the row above\n",
		},
	} {
		if got := table(c.name, c.columns).Print(Screen{Width: c.width}); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.about, got, c.want)
		}
	}
}

// No table is wider than its screen, and none loses a cell.
func TestTableWidth(t *testing.T) {
	for _, name := range []string{"", "latency", strings.Repeat("long ", 20), strings.Repeat("unbroken", 20)} {
		for width := 24; width < 140; width++ {
			for columns := range 8 {
				text := table(name, columns).Print(Screen{Width: width})
				for l := range strings.Lines(text) {
					if n := Width(strings.TrimSuffix(l, "\n")); n > min(width, Usual) {
						t.Fatalf("%d columns of %d: %q", n, width, l)
					}
				}
				if n := strings.Count(text, "1.10 ms"); n != max(0, columns-4)-max(0, columns-5)+max(0, columns-6) {
					t.Fatalf("%d columns on a width of %d: %d cells\n%s", columns, width, n, text)
				}
			}
		}
	}
}
