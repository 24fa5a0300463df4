package push

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/redline-go/redline/push/topic"
)

// finishRules completes the rules from the other options, and checks them.
func (o *Options) finishRules() error {
	rules := slices.Clone(o.Rules)
	var errs []error
	for i := range rules {
		r, name := &rules[i], fmt.Sprintf("Rules[%d]", i)
		if err := topic.CheckPattern(r.Pattern); err != nil {
			errs = append(errs, badOption(name+".Pattern", "is no pattern: %v", err))
			continue
		}
		for k, before := range rules[:i] {
			if before.Pattern == r.Pattern || topic.Covers(before.Pattern, r.Pattern) {
				errs = append(errs, badOption(name, "never applies, because Rules[%d] selects all of %q: put it before that one", k, r.Pattern))
			}
		}
		if r.QueueEvents != 0 || r.QueueBytes != 0 {
			o.limited++
			r.own = o.limited
		}
		o.bounded = o.bounded || r.MaxEventBytes != 0
		r.fill(o)
		errs = append(errs, r.check(name, o)...)
	}
	all := Rule{Pattern: "**"}
	all.fill(o)
	o.Rules = append(rules, all)
	return errors.Join(errs...)
}

// fill sets what is missing.
func (r *Rule) fill(o *Options) {
	r.Policy = cmp.Or(r.Policy, o.Policy)
	r.History.Events = cmp.Or(r.History.Events, o.History.Events)
	r.History.Bytes = cmp.Or(r.History.Bytes, o.History.Bytes)
	r.History.Age = cmp.Or(r.History.Age, o.History.Age)
	r.QueueEvents = cmp.Or(r.QueueEvents, o.QueueEvents)
	r.QueueBytes = cmp.Or(r.QueueBytes, o.QueueBytes)
	r.MaxEventBytes = cmp.Or(r.MaxEventBytes, o.MaxEventBytes)
	if r.History.Bytes < 0 {
		r.History.Bytes = unbounded
	}
	if r.History.Age < 0 {
		r.History.Age = never
	}
}

// check returns what of a rule cannot be, beside the other options.
func (r *Rule) check(name string, o *Options) (errs []error) {
	if r.Policy > Disconnect {
		errs = append(errs, badOption(name+".Policy", "is unknown: use one of the constants"))
	}
	for _, v := range [...]struct {
		field       string
		value, most int
	}{
		{"QueueEvents", r.QueueEvents, o.QueueEvents},
		{"QueueBytes", r.QueueBytes, o.QueueBytes},
		{"MaxEventBytes", r.MaxEventBytes, o.MaxEventBytes},
	} {
		if v.value < 1 || v.value > v.most {
			errs = append(errs, badOption(name+"."+v.field, "is %d: use 1 to %d, or raise Options.%s", v.value, v.most, v.field))
		}
	}
	return errs
}

// rule returns the settings of a topic. The last rule applies to all.
func (o *Options) rule(name string) *Rule {
	for i := range o.Rules {
		if topic.Match(o.Rules[i].Pattern, name) {
			return &o.Rules[i]
		}
	}
	return nil // never: the last rule selects every name
}

// Rule returns the settings of a topic: the first rule that selects it, with all fields set. The topic has
// to be a valid name.
func (h *Hub) Rule(name string) Rule { return *h.o.rule(name) }

// private returns the pattern of a rule that keeps a name or pattern to handlers with an authorize
// function, or "".
func (o *Options) private(filter string) string {
	for i := range o.Rules {
		r := &o.Rules[i]
		if r.Private && topic.Overlaps(r.Pattern, filter) {
			return r.Pattern
		}
		if topic.Covers(r.Pattern, filter) || r.Pattern == filter {
			return "" // no later rule applies to any of its topics
		}
	}
	return ""
}
