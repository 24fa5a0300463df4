package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// A round is one block of one workload: one run of every subject.
type round struct {
	block    int
	workload *workload
	steps    []step
}

// A want is a workload that needs another block.
type want struct {
	workload *workload
	only     []string // subjects that lack pairs, which the baseline runs with; nil: all
}

// takes reports whether a subject has a run in the block.
func (w *want) takes(s *Subject) bool {
	return w.only == nil || s.role == roleBaseline || slices.Contains(w.only, s.label())
}

// A plan yields the rounds of a comparison: in every block its workloads, in every workload every
// subject that serves it, both in an order drawn from the seed. Blocks are the outer loop, so that
// a drift of the machine affects all alike, and so that the runs before an interruption, or before
// the end of the time, can be compared.
type plan struct {
	rng      *rand.Rand
	subjects []*Subject
	block    int
}

func newPlan(seed uint64, subjects []*Subject) *plan {
	return &plan{rng: rand.New(rand.NewPCG(seed, 0x7265646c696e65)), subjects: subjects}
}

// next returns the rounds of the next block.
func (p *plan) next(wants []want) []round {
	p.block++
	var rounds []round
	for _, i := range p.rng.Perm(len(wants)) {
		r := round{block: p.block, workload: wants[i].workload}
		for _, k := range p.rng.Perm(len(p.subjects)) {
			if s := p.subjects[k]; s.serves(r.workload) && wants[i].takes(s) {
				r.steps = append(r.steps, step{block: p.block, order: len(r.steps) + 1, workload: r.workload, subject: s})
			}
		}
		rounds = append(rounds, r)
	}
	return rounds
}

const (
	// startTime is what starting and ending both processes of a run takes, as long as nothing is
	// known.
	startTime = 250 * time.Millisecond

	// mostBlocks limits the blocks without a budget, as a multiple of those that are asked for:
	// where the machine is disturbed so much, more of them do not help.
	mostBlocks = 2

	// hopeless is the part of the pairs that are needed of which so few are undisturbed, after all
	// blocks that were asked for, that as many blocks again would not do. Other processes then use
	// the CPUs all the time.
	hopeless = 3
)

// errBudget ends a comparison whose time is over.
var errBudget = errors.New("the time is over")

// run measures block after block, until the main metric of every workload has enough usable pairs,
// or the time is over. No block is measured again: what a disturbance spoilt is left out of the
// metrics that it spoils, and more blocks are added for the workloads that need them.
func (b *bench) run(ctx context.Context) error {
	p := newPlan(b.cfg.Seed, b.subjects)
	b.total = b.cfg.Blocks * b.blockRuns()
	b.began = time.Now()
	b.announce()
	b.patience()
	defer b.noteWaits()
	for wants := b.wanting(0); len(wants) > 0; wants = b.wanting(p.block) {
		for _, r := range p.next(wants) {
			runs, err := b.round(ctx, r)
			for i := range runs {
				runs[i].Counted = err == nil && runs[i].Failed == "" && runs[i].Short == "" // an unfinished block does not count
			}
			b.file.Runs = append(b.file.Runs, runs...)
			if errors.Is(err, errBudget) {
				b.note(fmt.Sprintf("the budget of %v ended in block %d", b.cfg.Budget, r.block))
				return nil
			}
			if err != nil {
				return err
			}
		}
		b.foresee(p.block)
	}
	return nil
}

// served returns the number of subjects, the twin included, that serve a workload.
func (b *bench) served(w *workload) (n int) {
	for _, s := range b.subjects {
		if s.serves(w) {
			n++
		}
	}
	return n
}

// wanting returns the workloads that need another block after so many, and their subjects that do.
func (b *bench) wanting(blocks int) []want {
	var wants []want
	if blocks < b.cfg.Blocks {
		for _, w := range b.affordable(blocks) {
			wants = append(wants, want{workload: w})
		}
		return wants
	}
	if b.cfg.fixed || b.cfg.Budget == 0 && blocks >= mostBlocks*b.cfg.Blocks {
		return nil
	}
	for _, w := range b.loads {
		s := b.standing(w)
		if len(s.lacks) == 0 || s.filled >= s.needed && s.usable < s.needed/hopeless {
			continue
		}
		one := want{w, s.lacks}
		wants = append(wants, one)
		for _, s := range b.subjects {
			if s.serves(w) && one.takes(s) {
				b.total++
			}
		}
	}
	return wants
}

// affordable returns the workloads that a block after so many is for. If the budget does not last for
// all, they are those that need the fewest runs to have enough pairs, as many as it lasts for: rather
// some workloads with a verdict than none. If it lasts for none, there are all.
func (b *bench) affordable(blocks int) []*workload {
	rest := b.cfg.Budget - time.Since(b.began)
	if b.cfg.Budget == 0 || blocks < 2 || b.left() <= rest {
		return b.loads
	}
	costs := map[*workload]time.Duration{} // of those that can be completed
	for _, w := range b.loads {
		if s := b.standing(w); s.filled > 0 && s.filled < s.needed {
			more := (blocks*(s.needed-s.filled) + s.filled - 1) / s.filled
			costs[w] = b.pace() * time.Duration(more*b.served(w))
		}
	}
	var loads []*workload
	for _, w := range slices.SortedFunc(maps.Keys(costs), func(x, y *workload) int { return cmp.Or(cmp.Compare(costs[x], costs[y]), cmp.Compare(x.name, y.name)) }) {
		if costs[w] > rest {
			break
		}
		loads, rest = append(loads, w), rest-costs[w]
	}
	if len(loads) == 0 {
		return b.loads
	}
	for _, w := range b.loads {
		if !slices.Contains(loads, w) {
			b.total -= b.served(w)
			if !b.dropped[w.name] {
				b.dropped[w.name] = true
				b.note(fmt.Sprintf("%s has no block after %d: the rest of the budget is for workloads that it is enough for", w.name, blocks))
			}
		}
	}
	return loads
}

// A standing is how far the main metric of a workload is.
type standing struct {
	usable, needed int      // undisturbed pairs of each subject that is still in
	lacks          []string // subjects that lack pairs because the machine was disturbed, or one side seldom did not reach the rate: only for them more blocks can help
	filled         int      // usable, and those that were measured beside other processes
	uneven         string   // why stolen time leaves out all pairs of a subject; empty: it does not
}

// standing returns how far the main metric of a workload is.
func (b *bench) standing(w *workload) standing {
	i := slices.IndexFunc(b.file.Workloads, func(o results.Workload) bool { return o.Name == w.name })
	load := &b.file.Workloads[i]
	g, err := newFamily(b.file, load, leading(load))
	if err != nil || g.twin == nil {
		return standing{} // conclude reports the error
	}
	out := standing{usable: g.twin.undisturbed(), needed: min(g.needed(), b.cfg.Blocks)}
	out.filled = out.usable + len(g.twin.busy)
	if b.out(g.twin) || b.failures[b.file.Config.Baseline] >= givenUp {
		return out
	}
	for _, p := range append(g.subjects, g.twin) {
		if b.out(p) {
			continue
		}
		out.usable, out.filled = min(out.usable, p.undisturbed()), min(out.filled, p.undisturbed()+len(p.busy))
		seldom := p.short > 0 && p.short < len(p.all) // did one side not reach the rate
		if p.undisturbed() < out.needed && (p.disturbed() > 0 || seldom) {
			out.lacks = append(out.lacks, p.name)
		}
		out.uneven = cmp.Or(out.uneven, p.uneven)
	}
	return out
}

// out reports whether no verdict on a subject needs more pairs: it is the floor, or was given up, or
// most of what it lacks are right answers.
func (b *bench) out(p *pairing) bool {
	return p.role == roleFloor || b.failures[p.name] >= givenUp || p.wrong > p.disturbed()
}

// note records a remark on the comparison, and shows it.
func (b *bench) note(text string) {
	b.file.Notes = append(b.file.Notes, text)
	b.tell(Step{Phase: "plan", Note: text})
}

// round runs one block of one workload. It returns errBudget, and what has run, if the time ends
// before the block does.
func (b *bench) round(ctx context.Context, r round) ([]results.Run, error) {
	var runs []results.Run
	for _, s := range r.steps {
		label := s.subject.label()
		step := Step{
			Phase: "run", Subject: label, Workload: r.workload.name,
			Block: r.block, Blocks: max(b.cfg.Blocks, r.block), Done: b.done, Total: b.total, Left: b.left(),
		}
		if b.failures[label] >= givenUp {
			b.done++
			continue
		}
		if err := b.calm(ctx, step, r.workload); err != nil {
			return runs, err
		}
		if b.cfg.Budget > 0 && time.Since(b.began)+b.pace()*time.Duration(len(r.steps)-len(runs)) > b.cfg.Budget {
			return runs, errBudget
		}
		b.tell(step)
		run, err := b.measure(ctx, s)
		if err != nil {
			return runs, err
		}
		b.lookout.learn(slices.ContainsFunc(run.Gates, func(g results.Gate) bool { return g.Name == foreignGate && !g.Passed }))
		runs = append(runs, run)
		b.done++
		if run.Failed == "" {
			b.failures[label] = 0
		} else if b.failures[label]++; b.failures[label] == givenUp {
			b.tell(Step{Phase: "run", Subject: label, Err: fmt.Errorf("excluded after %d consecutive failed runs", givenUp)})
		}
		step.Done, step.Left, step.Run = b.done, b.left(), &run
		b.tell(step)
	}
	return runs, nil
}

// pace returns how long a run takes, without what it waited for other processes.
func (b *bench) pace() time.Duration {
	if b.done == 0 {
		return b.cfg.Warmup + b.cfg.Window + startTime
	}
	return (time.Since(b.began) - b.lookout.waited) / time.Duration(b.done)
}

// left estimates the time for the rest of the plan.
func (b *bench) left() time.Duration { return b.pace() * time.Duration(b.total-b.done) }
