package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// A Phrase is wording that readers have to decipher, with plain words for it.
type Phrase struct {
	Pattern string // regular expression; a space matches any white space, also a line break within a comment
	Instead string // what to write
}

// phrases lists wording that is always wrong in this repository. A phrase that has a good
// use somewhere does not belong here.
var phrases = []Phrase{
	{`what is absent is forbidden`, "anything not listed is forbidden"},
	{`says only what`, "reports only what"},
	{`(?:is|are|was|were|be|been) told of`, "receives, is called for, or is notified of"},
	{`stands? in (?:the|a|an|its|this|that|one|an?other)`, "is in"},
	{`(?:stands?|stood) (?:on|behind|beside|with) (?:the|a|an|its|it|this|that|net/http)`, "uses, is built on, is after, or is with"},
	{`to be had`, "available"},
	{`of one's own`, "its own, or your own"},
	{`(?:let|lets|letting) go of`, "release, or drop"},
	{`sees to (?:it|that|the|this|a)`, "ensures, or does"},
	{`be it (?:a|an|the|by|in|on|for)`, "whether"},
	{`lest`, "so that ... not"},
	{`whoever`, "anyone who, or name who it is"},
	{`that which`, "what, or name it"},
	{`of no interest`, "does not matter, or is ignored"},
	{`the worst of it`, "name it"},
	{`is (?:its|his|their) doing`, "is caused by"},
	{`(?:came|comes|come) of it`, "results, or say what the result is"},
	{`for want of`, "for lack of"},
	{`as (?:it|they) came`, "as received"},
	{`(?:and|or) (?:its|their|the) like`, "and similar"},
	{`(?:go|goes) on (?:with|until|as|where|alone|without)`, "continues"},
	{`(?:thereof|whereof|wherein|thereupon|whence|whither|hitherto|heretofore|forthwith|nought|unto)`, "a current word"},
	{`in (?:its|his|their) stead`, "instead"},
	{`upon`, "on"},
	{`mend(?:s|ed|ing)?`, "fix"},
	{`which there is not`, "unknown, or name what exists"},
	{`(?:takes?|took) no part`, "is excluded, or is not included"},
	{`behind (?:the|an|its|this|that) (?:answer|response|head|body|content|request|chunk|boundary)`, "after"},
}

// prose is one expression for all phrases, with a group for each.
var prose = func() *regexp.Regexp {
	parts := make([]string, len(phrases))
	for i, p := range phrases {
		parts[i] = "(" + strings.ReplaceAll(p.Pattern, " ", `(?:\s|//)+`) + ")"
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(parts, "|") + `)\b`)
}()

// machine matches what a program has written into a document, between two markers, and
// what one prints or reads: blocks of code.
var machine = regexp.MustCompile("(?s)<!-- [a-z:]+:begin -->.*?<!-- [a-z:]+:end -->|\n```.*?\n```")

// prosed reports whether the wording of a file is checked.
func (c *checker) prosed(name string) bool {
	for dir := range c.rules.Unproofed {
		if below(dir, name) {
			return false
		}
	}
	return true
}

// document checks the wording of a Markdown file.
func (c *checker) document(name string, text []byte) {
	if !c.prosed(name) {
		return
	}
	c.wording(name, 1, machine.ReplaceAllFunc(text, func(block []byte) []byte {
		return bytes.Repeat([]byte("\n"), bytes.Count(block, []byte("\n")))
	}))
}

// comments checks the wording of the comments of a Go file.
func (c *checker) comments(name string, file *ast.File, text []byte) {
	if !c.prosed(name) {
		return
	}
	for _, group := range file.Comments {
		from, to := c.fset.Position(group.Pos()), c.fset.Position(group.End())
		c.wording(name, from.Line, text[from.Offset:to.Offset])
	}
}

// wording reports the listed phrases in a text that begins at a line of a file.
func (c *checker) wording(name string, line int, text []byte) {
	for _, m := range prose.FindAllSubmatchIndex(text, -1) {
		for i, p := range phrases {
			if m[2*i+2] < 0 {
				continue
			}
			at := line + bytes.Count(text[:m[0]], []byte("\n"))
			found := strings.Join(strings.Fields(strings.ReplaceAll(string(text[m[0]:m[1]]), "//", " ")), " ")
			c.breach(fmt.Sprintf("%s:%d", name, at), fmt.Sprintf("says %q", found), "documents and comments are in plain English", "write: "+p.Instead)
		}
	}
}
