package flame

import (
	"cmp"
	_ "embed" // the template
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/profile/show"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
)

// Limits of a page.
const (
	mostNodes     = 50_000 // of the tree; the smallest are left out
	mostFunctions = 100    // of the table
	longestName   = 1000   // bytes
)

//go:embed page.gohtml
var source string

var page = web.Parse("flame", source)

// Page is what a page shows.
type Page struct {
	Name    string // of the profile
	Samples *tree.Samples
	Before  *tree.Samples // nil unless two profiles are compared
}

// view is what the script draws, without the tree.
type view struct {
	Unit    string   `json:"unit"`
	Total   float64  `json:"total"`
	Before  float64  `json:"before,omitempty"` // total of the first profile
	Scale   float64  `json:"scale"`            // factor of the values for a request; 0: unknown
	Scaled  float64  `json:"scaled,omitempty"` // that of the first profile
	Diff    bool     `json:"diff,omitempty"`
	Each    bool     `json:"each,omitempty"` // a difference is for each request; else of shares
	Origins []string `json:"origins"`
	Used    []bool   `json:"used"`             // origins that occur
	Slices  int      `json:"slices,omitempty"` // parts of the window; 0: when stacks ran is unknown
	Slice   float64  `json:"slice,omitempty"`  // seconds of each
}

// forest is the tree, in columns.
type forest struct {
	Names   []string `json:"names"`
	Origins []int    `json:"origins"` // of the names
	Symbols []int32  `json:"symbols"` // of the nodes; -1: the root
	Parents []int32  `json:"parents"`
	Totals  []int64  `json:"totals"`
	Before  []int64  `json:"before,omitempty"` // of a difference
	Ran     []int64  `json:"ran,omitempty"`    // when: node, part of the window and value, and so on
}

// shown is what the template needs.
type shown struct {
	web.Frame
	Title, What string
	From        []string // process, date and command of the profiles
	Notes       []string
	Diff, Timed bool
	Functions   web.Table
}

// Write writes the page. It returns the errors of w.
func Write(w io.Writer, p Page) error {
	calls := p.calls()
	all := len(calls.Nodes)
	calls = calls.Largest(mostNodes)
	f, used := forestOf(calls, p.Before != nil)
	s := p.Samples
	v := view{Unit: s.Unit, Total: float64(s.Total), Scale: s.PerRequest(), Origins: frames.Origins(), Used: used}
	d := shown{Title: title(p.Name, s), What: show.Title(s), From: from("", s), Notes: s.Window.Notes, Diff: p.Before != nil, Functions: functions(s)}
	if p.Before == nil && len(s.Slices) > 0 {
		f.Ran, v.Slices, v.Slice = ran(s, calls), int(slices.Max(s.Slices))+1, s.Window.Slice
	}
	d.Timed = v.Slices > 1
	if b := p.Before; b != nil {
		v.Diff, v.Before, v.Scaled, v.Each = true, float64(b.Total), b.PerRequest(), show.ScaleOf(b, s).Each
		d.From = append(from("before: ", b), from("after: ", s)...)
		d.What = "before: " + show.Title(b) + "; after: " + show.Title(s)
	}
	if left := all - len(calls.Nodes); left > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the %d smallest of %d nodes are left out", left, all))
	}
	if calls.Short > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d stacks are cut, because the tree would be too large", calls.Short))
	}
	frame, err := web.NewFlameFrame(v, "", func(w io.Writer) error { return json.NewEncoder(w).Encode(f) })
	if err != nil {
		return err
	}
	d.Frame = frame
	return web.Write(w, page, d)
}

// title names a profile and its process.
func title(name string, s *tree.Samples) string {
	if s.Window.Process == "" {
		return name
	}
	return name + " of " + s.Window.Process
}

// from says of what, when and how a profile was taken, as far as it is known.
func from(which string, s *tree.Samples) []string {
	w := s.Window
	var parts []string
	if w.Process != "" {
		parts = append(parts, w.Process)
	}
	if !w.Taken.IsZero() {
		parts = append(parts, "taken "+w.Taken.Format("2006-01-02 15:04:05 MST"))
	}
	if w.Command != "" {
		parts = append(parts, "by redline "+w.Command)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{which + strings.Join(parts, ", ")}
}

func (p *Page) calls() *tree.Calls {
	if p.Before != nil {
		return p.Samples.Diff(p.Before)
	}
	return p.Samples.Calls()
}

// forestOf returns the columns of a tree with the names that it uses, and the origins that occur.
func forestOf(c *tree.Calls, diff bool) (f forest, used []bool) {
	used = make([]bool, len(frames.Origins()))
	place := map[int32]int32{-1: -1}
	for _, n := range c.Nodes {
		at, ok := place[n.Symbol]
		if !ok {
			at = int32(len(f.Names))
			place[n.Symbol] = at
			symbol := &c.Symbols[n.Symbol]
			f.Names = append(f.Names, symbol.Name[:min(len(symbol.Name), longestName)])
			f.Origins = append(f.Origins, int(symbol.Origin))
			used[symbol.Origin] = true
		}
		f.Symbols, f.Parents, f.Totals = append(f.Symbols, at), append(f.Parents, n.Parent), append(f.Totals, n.Total)
		if diff {
			f.Before = append(f.Before, n.Before)
		}
	}
	return f, used
}

// ran returns when the stacks ran: for each node where some end and each part of the window the value.
// Stacks whose last functions are not in the tree end at their callers.
func ran(s *tree.Samples, c *tree.Calls) (list []int64) {
	type edge struct{ caller, symbol int32 }
	nodes := map[edge]int32{}
	for i, n := range c.Nodes {
		nodes[edge{n.Parent, n.Symbol}] = int32(i)
	}
	type moment struct{ node, slice int32 }
	sums := map[moment]int64{}
	for i, stack := range s.Stacks {
		at := int32(0)
		for _, symbol := range stack {
			next, ok := nodes[edge{at, symbol}]
			if !ok {
				break
			}
			at = next
		}
		sums[moment{at, s.Slices[i]}] += s.Values[i]
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.slice, b.slice))
	})
	for _, m := range order {
		list = append(list, int64(m.node), int64(m.slice), sums[m])
	}
	return list
}

// functions returns the table of the largest functions.
func functions(s *tree.Samples) web.Table {
	heads := []string{"function", "whose code", "flat#", "flat %#", "cum#", "cum %#"}
	each := s.PerRequest()
	if each > 0 {
		heads = append(heads, "flat a request#", "cum a request#")
	}
	t := web.Table{Caption: "Functions with the largest cost of their own", Heads: web.Heads(heads...)}
	list := s.Functions()
	amount := func(v float64) web.Cell { return web.Number(v, show.Amount(v, s.Unit)) }
	for _, f := range list[:min(len(list), mostFunctions)] {
		flat, cum := float64(f.Flat), float64(f.Cum)
		total := float64(s.Total)
		if total == 0 {
			total = 1
		}
		row := []web.Cell{
			{Text: f.Name, Class: "name"},
			{Text: f.Origin.String()},
			amount(flat), web.Number(flat/total, report.Percent(flat/total)), amount(cum), web.Number(cum/total, report.Percent(cum/total)),
		}
		if each > 0 {
			row = append(row, amount(flat*each), amount(cum*each))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
