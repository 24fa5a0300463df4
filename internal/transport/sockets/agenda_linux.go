package sockets

import "container/heap"

// An agenda holds the functions of Later, the earliest first; those of one time are in the order of
// their calls. Adding one, and taking the first, costs the logarithm of their number: who
// reschedules subscribers may have one for each.
type agenda struct {
	jobs  []*job // a heap
	added uint64
}

// add adds a function.
func (a *agenda) add(j *job) {
	a.added++
	j.nth = a.added
	heap.Push((*byTime)(a), j)
}

// first is the function that is due next, nil if there is none.
func (a *agenda) first() *job {
	if len(a.jobs) == 0 {
		return nil
	}
	return a.jobs[0]
}

// take removes it.
func (a *agenda) take() {
	if heap.Pop((*byTime)(a)); len(a.jobs) == 0 {
		a.jobs = nil
	}
}

// byTime implements [heap.Interface].
type byTime agenda

func (a *byTime) Len() int { return len(a.jobs) }

func (a *byTime) Less(i, k int) bool {
	x, y := a.jobs[i], a.jobs[k]
	return x.at < y.at || x.at == y.at && x.nth < y.nth
}

func (a *byTime) Swap(i, k int) { a.jobs[i], a.jobs[k] = a.jobs[k], a.jobs[i] }
func (a *byTime) Push(j any)    { a.jobs = append(a.jobs, j.(*job)) }

func (a *byTime) Pop() any {
	n := len(a.jobs) - 1
	j := a.jobs[n]
	a.jobs[n] = nil
	a.jobs = a.jobs[:n]
	return j
}
