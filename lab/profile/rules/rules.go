package rules

import (
	"bytes"
	_ "embed" // the built-in rules
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redline-go/redline/lab/profile/baseline"
	"github.com/redline-go/redline/lab/profile/frames"
)

// Builtin is the file of the built-in rules.
//
//go:embed builtin.yaml
var Builtin string

// Limits of a file of rules.
const (
	MaxFile      = 1 << 20 // bytes
	mostRules    = 1000
	mostFindings = 5 // of a rule
)

// Rule is a rule of a file.
type Rule struct {
	Name     string
	Metric   string
	Purpose  string
	Function string
	Value    string
	MoreThan string `yaml:"more_than"`
	Times    float64
	Longer   string
	AtLeast  string `yaml:"at_least"`
	Advice   string

	match  *regexp.Regexp
	share  float64 // of MoreThan
	least  float64 // of AtLeast
	longer time.Duration
}

// Parse parses a file of rules. Its errors name the rule, and say what to write.
func Parse(text []byte) ([]Rule, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("a file of rules has at most %d bytes", MaxFile)
	}
	var file struct{ Rules []Rule }
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(file.Rules) == 0 || len(file.Rules) > mostRules {
		return nil, fmt.Errorf("the file has %d rules: want 1 to %d under the key rules", len(file.Rules), mostRules)
	}
	for i := range file.Rules {
		if err := file.Rules[i].parse(); err != nil {
			return nil, fmt.Errorf("rule %d, %q: %w", i+1, file.Rules[i].Name, err)
		}
	}
	return file.Rules, nil
}

// parse checks a rule.
func (r *Rule) parse() (err error) {
	given := 0
	for _, is := range []bool{r.MoreThan != "", r.Times != 0, r.Longer != ""} {
		if is {
			given++
		}
	}
	switch {
	case r.Name == "" || r.Metric == "":
		return errors.New("want a name and a metric, such as cpu")
	case (r.Purpose == "") == (r.Function == ""):
		return errors.New("want a purpose or a function")
	case r.Purpose != "" && !slices.Contains(frames.Classes(), r.Purpose):
		return fmt.Errorf("purpose %q: want one of %s", r.Purpose, strings.Join(frames.Classes(), ", "))
	case r.Value != "" && r.Value != "flat" && r.Value != "cum":
		return fmt.Errorf("value %q: want flat or cum", r.Value)
	case given != 1:
		return errors.New("want one of more_than, times and longer")
	case r.Times != 0 && !(r.Times > 1):
		return fmt.Errorf("times %v: want more than 1", r.Times)
	}
	if r.match, err = regexp.Compile(r.Function); err != nil {
		return fmt.Errorf("function: %w", err)
	}
	if r.share, err = percent(r.MoreThan); err != nil {
		return fmt.Errorf("more_than: %w", err)
	}
	if r.least, err = percent(r.AtLeast); err != nil {
		return fmt.Errorf("at_least: %w", err)
	}
	if r.Longer != "" {
		if r.longer, err = time.ParseDuration(r.Longer); err != nil || r.longer <= 0 {
			return fmt.Errorf("longer %q: want a time, such as 300ms", r.Longer)
		}
	}
	return nil
}

// percent parses a share, such as 40%. An empty text is 0.
func percent(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("%q: want a share from 0%% to 100%%", text)
	}
	return v / 100, nil
}

// Finding is a rule that applies.
type Finding struct {
	Rule   string
	Name   string // of the function or the purpose
	Text   string // what was found, with figures
	Advice string
	size   float64
}

// Apply judges a measurement. before is the baseline; nil: there is none. missing says for each
// rule that could not be applied why.
func Apply(list []Rule, before, now *baseline.Vector) (found []Finding, missing []string) {
	for i := range list {
		r := &list[i]
		m := now.Metrics[r.Metric]
		if m == nil {
			missing = append(missing, fmt.Sprintf("%s: no %s profile was taken; add it to --kind", r.Name, r.Metric))
			continue
		}
		var old *baseline.Metric
		if before != nil {
			old = before.Metrics[r.Metric]
		}
		if r.Times > 0 && old == nil {
			missing = append(missing, r.Name+": it needs a baseline")
			continue
		}
		if r.Longer != "" && !timed(m) {
			missing = append(missing, r.Name+": the profile does not count events")
			continue
		}
		found = append(found, r.apply(old, m)...)
	}
	return found, missing
}

// timed reports whether a metric has the mean time of events.
func timed(m *baseline.Metric) bool {
	for _, v := range m.Functions {
		if v.Mean != nil {
			return true
		}
	}
	return false
}

func (r *Rule) apply(before, now *baseline.Metric) (found []Finding) {
	values, old := now.Functions, map[string]*baseline.Values{}
	if r.Purpose != "" {
		values = now.Purposes
	}
	if before != nil {
		if old = before.Functions; r.Purpose != "" {
			old = before.Purposes
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if r.Purpose != "" && name != r.Purpose || r.Purpose == "" && !r.match.MatchString(name) {
			continue
		}
		if r.shareOf(values[name]) >= r.least {
			names = append(names, name)
		}
	}
	if r.Times > 0 {
		return r.grown(names, old, values, before.Each && now.Each)
	}
	for _, name := range names {
		v := values[name]
		share := r.shareOf(v)
		if text := r.judge(v, share, now); text != "" {
			found = append(found, Finding{Rule: r.Name, Name: name, Text: text, Advice: r.Advice, size: share})
		}
	}
	return largest(found)
}

// grown finds what costs more than r.Times of the baseline.
func (r *Rule) grown(names []string, old, values map[string]*baseline.Values, each bool) (found []Finding) {
	of := "share"
	if each {
		of = "cost of a request"
	}
	factors := baseline.Grown(names, old, values, baseline.Question{Cum: r.Value != "flat", Each: each, Times: r.Times})
	for _, name := range names {
		if by, ok := factors[name]; ok {
			text := fmt.Sprintf("its %s is %.1f times that of the baseline", of, by)
			found = append(found, Finding{Rule: r.Name, Name: name, Text: text, Advice: r.Advice, size: r.shareOf(values[name])})
		}
	}
	return largest(found)
}

// largest returns the largest findings of a rule.
func largest(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		switch {
		case a.size > b.size:
			return -1
		case a.size < b.size:
			return 1
		}
		return 0
	})
	return found[:min(len(found), mostFindings)]
}

func (r *Rule) shareOf(v *baseline.Values) float64 {
	if r.Value == "flat" {
		return v.FlatShare.Value
	}
	return v.CumShare.Value
}

// judge returns what was found of a function, or "".
func (r *Rule) judge(v *baseline.Values, share float64, now *baseline.Metric) string {
	switch {
	case r.MoreThan != "":
		if share > r.share {
			return fmt.Sprintf("%.1f %% of %s, more than %s", share*100, r.Metric, r.MoreThan)
		}
	case r.Longer != "":
		if v.Mean != nil && now.Unit == "nanoseconds" && time.Duration(*v.Mean) > r.longer {
			return fmt.Sprintf("%v an event, longer than %s", time.Duration(*v.Mean).Round(time.Millisecond), r.Longer)
		}
	}
	return ""
}
