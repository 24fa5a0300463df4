package archtest

import "testing"

// TestProse reports listed phrases with their file, line and replacement, and nothing else.
func TestProse(t *testing.T) {
	rules := Redline.bare()
	rules.Unproofed = map[string]string{"lab": "because"}
	const rule = `: documents and comments are in plain English; write: `
	for _, c := range []testCase{
		{"document", map[string]string{"docs/x.md": "# X\n\nThe rest is of no interest.\n"}, `docs/x.md:3: says "of no interest"` + rule + "does not matter, or is ignored"},
		{"comment", map[string]string{"internal/buf/x.go": "package buf\n\n// Whoever calls it waits.\nvar x int\n"}, `internal/buf/x.go:3: says "Whoever"` + rule + "anyone who"},
		{"trailing comment", map[string]string{"x.go": "package x\n\nvar x int // as it came\n"}, `x.go:3: says "as it came"` + rule + "as received"},
		{"across lines of a comment", map[string]string{"x.go": "package x\n\n// The hook is told\n// of panics.\nvar x int\n"}, `x.go:3: says "is told of"`},
		{"across lines of a document", map[string]string{"x.md": "Then let\ngo of it.\n"}, `x.md:1: says "let go of"`},
		{"test file", map[string]string{"x_test.go": "package x\n\n// It fails for want of files.\nvar x int\n"}, `x_test.go:3: says "for want of"`},
		{"after machine output", map[string]string{"x.md": "<!-- a:begin -->\nlest\n<!-- a:end -->\n\nlest\n"}, `x.md:5: says "lest"`},
		{"plain", map[string]string{"x.md": "The hook receives panics, at the latest when it ends.\n", "x.go": "package x\n\n// The rest is ignored.\nvar x int\n"}, ""},
		{"part of a word", map[string]string{"x.md": "The smallest wholesale lesson.\n"}, ""},
		{"machine output", map[string]string{"x.md": "<!-- performance:at:begin -->\nlest\n<!-- performance:at:end -->\n"}, ""},
		{"block of code", map[string]string{"x.md": "Text.\n\n```\nlest\n```\n"}, ""},
		{"code", map[string]string{"x.go": "package x\n\nvar lest = \"whoever\"\n"}, ""},
		{"not proofed yet", map[string]string{"lab/x.md": "lest\n", "lab/x.go": "package x\n\n// lest\nvar x int\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) { hold(t, tree(c.files), rules, c.want) })
	}
}
