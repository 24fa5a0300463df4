package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// A Scale makes two profiles comparable.
type Scale struct {
	Before, After float64 // factors of the values
	Each          bool    // the values are for each request; else they are shares of the total
}

// ScaleOf returns the scale of two profiles: for each request if both know their requests, else
// their totals.
func ScaleOf(before, after *tree.Samples) Scale {
	if b, a := before.PerRequest(), after.PerRequest(); b > 0 && a > 0 {
		return Scale{Before: b, After: a, Each: true}
	}
	of := func(total int64) float64 {
		if total == 0 {
			return 0
		}
		return 1 / float64(total)
	}
	return Scale{Before: of(before.Total), After: of(after.Total)}
}

// moved is a function in two profiles, scaled.
type moved struct {
	Name                                       string
	FlatBefore, FlatAfter, CumBefore, CumAfter float64
}

// Diff writes the functions whose flat value changed most from one profile to another.
func Diff(w io.Writer, before, after *tree.Samples, o Options) error {
	scale := ScaleOf(before, after)
	list := moves(before, after, scale)
	amount := func(v float64) string { return report.Percent(v) }
	signed := func(v float64) string { return fmt.Sprintf("%+.2f pp", v*100) }
	what := "share of the total; at least one of the profiles does not know its requests"
	if scale.Each {
		what = "for each request"
		amount = func(v float64) string { return Amount(v, after.Unit) }
		signed = func(v float64) string { return Signed(v, after.Unit) }
	}
	t := screen.NewTable(screen.Column{Head: "function", Width: 40, Left: true},
		screen.Column{Head: "flat before", Width: 11}, screen.Column{Head: "after", Width: 11}, screen.Column{Head: "change", Width: 11}, screen.Column{Head: "cum change", Width: 11})
	for _, m := range list[:min(o.Top, len(list))] {
		t.Row(frames.Short(m.Name), amount(m.FlatBefore), amount(m.FlatAfter), signed(m.FlatAfter-m.FlatBefore), signed(m.CumAfter-m.CumBefore))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "before: %s\nafter:  %s\n%s\n", Title(before), Title(after), o.Screen.Paint(screen.Bold, "change, "+what))
	b.WriteString(t.Print(o.Screen))
	_, err := io.WriteString(w, b.String())
	return err
}

// moves returns the functions of two profiles, those whose flat value changed most first.
func moves(before, after *tree.Samples, scale Scale) []moved {
	index, list := map[string]int{}, []moved{}
	at := func(name string) *moved {
		i, ok := index[name]
		if !ok {
			i = len(list)
			index[name] = i
			list = append(list, moved{Name: name})
		}
		return &list[i]
	}
	for _, f := range before.Functions() {
		m := at(f.Name)
		m.FlatBefore, m.CumBefore = float64(f.Flat)*scale.Before, float64(f.Cum)*scale.Before
	}
	for _, f := range after.Functions() {
		m := at(f.Name)
		m.FlatAfter, m.CumAfter = float64(f.Flat)*scale.After, float64(f.Cum)*scale.After
	}
	slices.SortFunc(list, func(x, y moved) int {
		return cmp.Or(
			cmp.Compare(math.Abs(y.FlatAfter-y.FlatBefore), math.Abs(x.FlatAfter-x.FlatBefore)),
			cmp.Compare(math.Abs(y.CumAfter-y.CumBefore), math.Abs(x.CumAfter-x.CumBefore)), cmp.Compare(x.Name, y.Name))
	})
	return list
}
