package suite

import "math/rand/v2"

// A step is one run of the plan.
type step struct {
	block, order int // count from 1
	workload     *workload
	subject      *Subject
	attempt      int
}

// A round is one block of one workload: one run of every subject.
type round struct {
	block    int
	workload *workload
	steps    []step
}

// plan returns the rounds of the whole comparison: in every block every workload, in
// every workload every subject that serves it, both in an order drawn from the seed.
// Blocks are the outer loop, so that a drift of the machine affects all alike, and so
// that the runs before an interruption can be compared.
func plan(seed uint64, blocks int, loads []*workload, subjects []*Subject) []round {
	rng := rand.New(rand.NewPCG(seed, 0x7265646c696e65))
	var rounds []round
	for block := 1; block <= blocks; block++ {
		for _, i := range rng.Perm(len(loads)) {
			rounds = append(rounds, newRound(rng, block, loads[i], subjects))
		}
	}
	return rounds
}

func newRound(rng *rand.Rand, block int, w *workload, subjects []*Subject) round {
	r := round{block: block, workload: w}
	for _, i := range rng.Perm(len(subjects)) {
		if subjects[i].serves(w) {
			r.steps = append(r.steps, step{
				block: block, order: len(r.steps) + 1, workload: w, subject: subjects[i], attempt: 1,
			})
		}
	}
	return r
}

// again returns the round for another attempt.
func (r round) again() round {
	steps := make([]step, len(r.steps))
	for i, s := range r.steps {
		s.attempt++
		steps[i] = s
	}
	r.steps = steps
	return r
}
