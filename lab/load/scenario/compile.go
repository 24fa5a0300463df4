package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// compiler compiles a file into a plan.
type compiler struct {
	*binder
	*shared
}

// shared is common to all files of a scenario.
type shared struct {
	o        Options
	dir      string // base of relative names
	plan     *Plan
	base     *place
	defaults defaults
	set      fields           // header fields of every request, from flags
	slots    map[string]int32 // of variables
	broken   map[string]bool  // variables with an error that has been reported
	fills    map[string]pattern
	opened   map[string]fileBody
	named    map[string]int // line of every target's name
}

// scope is what a template may refer to.
type scope struct {
	c        *compiler
	names    map[string]int32  // captures made so far
	later    map[string]string // capture to the step that makes it
	verbatim bool              // nothing is a reference
	tokens   bool              // the claims of a JWT: neither captures nor JWTs are allowed
}

// slot adds a slot to the plan.
func (c *compiler) slot(s slot) int32 {
	c.plan.slots = append(c.plan.slots, s)
	return int32(len(c.plan.slots) - 1)
}

// resolve returns what a reference refers to.
func (s *scope) resolve(p part, line int) (segment, bool) {
	c := s.c
	at, ok := c.slots[p.name]
	if !ok {
		at, ok = s.names[p.name]
	}
	if b, known := builtin[p.name]; !ok && known {
		at, ok = c.slot(b), true
		c.slots[p.name] = at
	}
	if !ok && c.broken[p.name] {
		return segment{}, false
	}
	if !ok {
		if step, yes := s.later[p.name]; yes {
			c.fail(line, "move that step before this one", "${%s} is captured by step %q, which runs later", p.name, step)
			return segment{}, false
		}
		known := slices.Sorted(maps.Keys(c.slots))
		known = append(known, slices.Sorted(maps.Keys(s.names))...)
		c.fail(line, "declare it under variables:, or capture it in an earlier step; "+suggest(p.name, known), "${%s} is not defined here", p.name)
		return segment{}, false
	}
	v := &c.plan.slots[at]
	if s.tokens && v.source == signed {
		c.fail(line, "name a variable of another kind", "${%s} is a JWT, which the claims of a JWT cannot contain", p.name)
		return segment{}, false
	}
	seg := segment{slot: at}
	switch {
	case v.source == row && p.column == "":
		c.fail(line, fmt.Sprintf("write ${%s.%s}; the columns are %s", p.name, v.table.columns[0], strings.Join(v.table.columns, ", ")), "${%s} is a row of %s", p.name, v.table.file)
		return seg, false
	case v.source == row:
		column, err := v.column(p.column)
		if err != nil {
			c.fail(line, suggest(p.column, v.table.columns), "${%s.%s}: %v", p.name, p.column, err)
			return seg, false
		}
		seg.column = column
	case p.column != "":
		c.fail(line, fmt.Sprintf("write ${%s}", p.name), "${%s.%s}: only rows of CSV files have columns", p.name, p.column)
		return seg, false
	}
	return seg, true
}

// flags applies what the command line sets for every request.
func (c *compiler) flags(f *file) {
	c.set = c.pairs(c.o.Set)
	for _, s := range c.o.Check {
		k, err := parseCheck(s)
		if err != nil {
			c.errs = append(c.errs, err)
			continue
		}
		f.Defaults.Checks = append(f.Defaults.Checks, k)
	}
}

// pairs parses header fields in the form of flags.
func (b *binder) pairs(list []string) fields {
	var out fields
	for _, h := range list {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			b.fail(0, "write Name: value", "header %q", h)
			continue
		}
		out = append(out, entry[text]{strings.TrimSpace(name), 0, literal(strings.TrimSpace(value), 0)})
	}
	return out
}

// file compiles everything.
func (c *compiler) file(f *file) {
	c.defaults, c.plan.cookies = f.Defaults, f.Cookies
	if c.o.Base != "" {
		f.Base = literal(c.o.Base, 0)
	}
	if f.Base.given() {
		c.base = c.parseBase(f.Base)
	}
	c.variables(f.Variables)
	c.noRequests(f)
	setup := map[string]int32{}
	c.plan.setup = c.steps(f.Setup, "setup", setup, setup, nil)
	for _, t := range c.plan.setup {
		t.setup = true
	}
	c.order(f)
	if len(f.Scenarios) == 0 {
		c.plan.add(c.entries(f, &section{Targets: f.Targets, Flows: f.Flows}, setup))
		c.plan.finish([]float64{1})
		return
	}
	c.parts(f, setup)
}

// maxParts is the number of scenarios in a file.
const maxParts = 1000

// parts compiles several scenarios. The file's defaults apply to what a scenario does not set.
func (c *compiler) parts(f *file, setup map[string]int32) {
	if len(f.Scenarios) > maxParts {
		c.fail(f.Scenarios[maxParts].Line, fmt.Sprintf("write at most %d", maxParts), "%d scenarios", len(f.Scenarios))
		return
	}
	defaults := c.defaults
	names := map[string]bool{}
	weights := make([]float64, 0, len(f.Scenarios))
	for i := range f.Scenarios {
		p := &f.Scenarios[i]
		switch {
		case p.Name.s == "":
			c.fail(p.Line, "write name: browse", "a scenario without a name")
		case names[p.Name.s]:
			c.fail(p.Line, "give it a unique name:, by which results are listed", "%q is also the name of another scenario", p.Name.s)
		case len(p.Targets)+len(p.Flows) == 0:
			c.fail(p.Line, "write targets: with a list of requests, or flows: with lists of steps", "there are no requests in scenario %q", p.Name.s)
		}
		names[p.Name.s] = true
		if slices.ContainsFunc(p.Tags, func(e entry[text]) bool { return e.name == "scenario" }) {
			c.fail(p.Line, "leave it out", "the tag scenario of every request is the name of its scenario")
		}
		p.Tags = append(p.Tags, entry[text]{"scenario", p.Line, literal(p.Name.s, p.Line)})
		if c.defaults = defaults; p.Think.given() {
			c.defaults.Think = p.Think
		}
		c.plan.add(c.entries(f, p, setup))
		weights = append(weights, c.weight(p.Weight, p.Name.s))
	}
	c.defaults = defaults
	c.plan.finish(weights)
}

// entries compiles what a scenario consists of: targets and flows, with their weights.
func (c *compiler) entries(f *file, p *section, setup map[string]int32) (entries [][]*Target, weights []float64) {
	owner := ""
	if p.Name.given() {
		owner = p.Name.s + "/"
	}
	weigh := func(w text, name string) {
		weights = append(weights, c.weight(w, name))
		if w.given() && f.Order.s == "sequence" {
			c.fail(w.node.line, "drop the weights, or order: sequence", "weights apply only to random order; in sequence every target is used in turn")
		}
	}
	for i := range p.Targets {
		st := &p.Targets[i]
		if st.Captures != nil {
			c.fail(st.Line, "make it a step of a flow, or of setup", "a target outside of a flow captures %q, which no other request can use", st.Captures[0].name)
		}
		t := c.step(&st.step, owner, &scope{c: c, names: setup, verbatim: st.verbatim})
		t.tags = c.tags(p.Tags, st.Tags)
		entries = append(entries, []*Target{t})
		weigh(st.Weight, t.name)
	}
	for i := range p.Flows {
		w := &p.Flows[i]
		if w.Name.s == "" {
			c.fail(w.Line, "write name: checkout", "a flow without a name")
		}
		name := owner + w.Name.s
		if len(w.Steps) == 0 {
			c.fail(w.Line, "write steps: with a list of requests", "flow %q has no steps", w.Name.s)
			continue
		}
		if slices.Contains(c.plan.flows, name) {
			c.fail(w.Line, "give it a unique name:, by which results are listed", "%q is also the name of another flow", name)
		}
		steps := c.steps(w.Steps, name, maps.Clone(setup), setup, slices.Concat(p.Tags, w.Tags))
		c.plan.addFlow(name, steps)
		entries = append(entries, steps)
		weigh(w.Weight, w.Name.s)
	}
	return entries, weights
}

func (c *compiler) order(f *file) {
	t := f.Order
	if t.given() && len(f.Scenarios) > 0 {
		c.fail(t.node.line, "leave order: out, or write a file for each scenario", "order: with scenarios, whose users choose at random")
	}
	switch t.or("random") {
	case "random":
	case "sequence":
		c.plan.inTurn = true
	default:
		c.fail(t.node.line, "write order: random or sequence", "order %q", t.s)
	}
}

func (c *compiler) weight(t text, name string) float64 {
	if !t.given() {
		return 1
	}
	w, err := strconv.ParseFloat(t.s, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		c.fail(t.node.line, "write a number above 0; to disable the target, remove it", "%s: weight %q", name, t.s)
		return 1
	}
	return w
}

// steps compiles a sequence. Each step adds its captures to names; any step may renew the
// captures of setup.
func (c *compiler) steps(list []step, owner string, names, setup map[string]int32, owned tags) []*Target {
	later := map[string]string{}
	for i := range list {
		for _, e := range list[i].Captures {
			if _, ok := later[e.name]; !ok {
				later[e.name] = list[i].Name.or(list[i].URL.s)
			}
		}
	}
	out := make([]*Target, 0, len(list))
	for i := range list {
		st := &list[i]
		t := c.step(st, owner+"/", &scope{c: c, names: maps.Clone(names), later: later})
		for _, e := range st.Captures {
			if _, ok := names[e.name]; !ok && c.name(e.name, e.line, "capture") {
				names[e.name] = c.slot(slot{name: e.name, source: captured})
			}
		}
		t.captures = c.captures(st.Captures, names)
		t.tags = c.tags(owned, st.Tags)
		t.sequential = true
		out = append(out, t)
	}
	return out
}

// step compiles one request.
func (c *compiler) step(st *step, owner string, s *scope) *Target {
	t := &Target{method: strings.TrimSpace(st.Method.or("GET"))}
	if !isToken(t.method) {
		c.fail(st.Method.node.line, "write GET, POST or another method, in capitals", "method %q", st.Method.s)
	}
	t.name = owner + st.Name.or(t.method+" "+redact.Text(st.URL.s))
	if at, ok := c.named[t.name]; ok && !s.verbatim {
		c.fail(st.Line, "give it a unique name:, by which results are listed", "%q is also the name of the target in line %d", t.name, at)
	}
	c.named[t.name] = st.Line
	s.url(t, st)
	if st.Body != nil {
		t.body = s.body(st.Body)
		if !st.Method.given() {
			c.fail(st.Line, "write method: POST, or another one", "%s: a body without a method", t.name)
		}
	}
	s.headers(t, st.Headers)
	t.checks = c.checks(st.Checks)
	t.think = c.think(st.Think)
	if t.cookies = c.plan.cookies; t.cookies && slices.ContainsFunc(t.fields, func(f fieldTemplate) bool { return f.lower == "cookie" }) {
		c.fail(st.Line, "leave out one of the two", "%s: a header Cookie with cookies: true", t.name)
	}
	t.assemble()
	return t
}

func (c *compiler) think(t text) dist.Dist {
	if !t.given() {
		t = c.defaults.Think
	}
	if !t.given() {
		return c.o.Think
	}
	d, err := dist.ParseWith(t.s, func(name string) ([]byte, error) { return c.load(name) })
	if err != nil {
		c.fail(t.node.line, "write the think time as described above", "%v", err)
	}
	return d
}

// headers compiles the fields of a target: first the defaults, except those that the target
// overrides or removes.
func (s *scope) headers(t *Target, own fields) {
	has := func(f fields, name string) bool {
		return slices.ContainsFunc(f, func(e entry[text]) bool { return strings.EqualFold(e.name, name) })
	}
	own = slices.DeleteFunc(slices.Clone(own), func(e entry[text]) bool { return has(s.c.set, e.name) })
	for _, e := range s.c.defaults.Headers {
		if !has(own, e.name) && !has(s.c.set, e.name) && !s.tooEarly(e.value) {
			(&scope{c: s.c, names: s.names, later: s.later}).header(t, e)
		}
	}
	for _, e := range own {
		s.header(t, e)
	}
	for _, e := range s.c.set {
		(&scope{c: s.c, verbatim: true}).header(t, e)
	}
	if t.body.media != "" && !slices.ContainsFunc(t.fields, func(f fieldTemplate) bool { return f.lower == "content-type" }) && !has(own, "content-type") && !has(s.c.set, "content-type") {
		t.fields = append(t.fields, fieldTemplate{"Content-Type", "content-type", template(nil).text(t.body.media)})
	}
}

// tooEarly reports whether a default uses what a later step of the same sequence captures.
// It applies only after that step: a login does not need the token that it returns.
func (s *scope) tooEarly(t text) bool {
	parts, err := splitTemplate(t.s)
	return err == nil && slices.ContainsFunc(parts, func(p part) bool {
		_, exists := s.names[p.name]
		return !exists && p.name != "" && s.later[p.name] != ""
	})
}

func (s *scope) header(t *Target, e entry[text]) {
	lower := strings.ToLower(e.name)
	switch {
	case !isToken(e.name):
		s.c.fail(e.line, "write Name: value, the name with letters, digits and -", "%q is not the name of a header field", e.name)
		return
	case lower == "content-length" || lower == "transfer-encoding":
		s.c.fail(e.line, "leave it out; chunked: true in the body chooses chunks", "%s is set by the body", e.name)
		return
	case !e.value.given():
		return // removes a default
	}
	value := s.template(e.value, inField)
	for _, seg := range value {
		if seg.slot < 0 && slices.ContainsFunc(seg.literal, inField.unsafe) {
			s.c.fail(e.line, "write it on one line", "header %s: a line break or control character", e.name)
			return
		}
	}
	if lower == "host" {
		if host, ok := value.constant(); ok && len(host) > 0 {
			t.host = string(host)
		} else {
			s.c.fail(e.line, "write a name without variables", "header Host: %q", e.value.s)
		}
		return
	}
	t.fields = append(t.fields, fieldTemplate{e.name, lower, value})
}

// isToken reports whether s is a token, RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
