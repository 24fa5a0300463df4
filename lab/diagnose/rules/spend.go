package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

const (
	mostSpends = 12   // parts that are listed
	leastSpend = 0.01 // share of the requests' time
	mostFrames = 6    // of a stack
)

// Spend divides the mean latency under the highest load by stacks, the greatest part first: on the CPU,
// and off it by the reason of the wait. It says where time goes, whether or not a cause is known. What
// it does not see is the last part.
func Spend(e *diagnose.Evidence) []diagnose.Spend {
	v := newView(e)
	var list []diagnose.Spend
	switch {
	case v.requests.Total > 0:
		list = parts(v.requests, v.inflight, waitOf)
	case v.Server.Language != "go" && v.load.OffCPU != nil && v.load.Looked > 0 && known(v.load.InFlight) > 0:
		list = parts(v.load.OffCPU, v.load.Looked*v.load.InFlight, blockOf)
	}
	waits := 0.0
	for _, s := range list {
		waits += s.Share
	}
	if on := v.load.OnCPU; on != nil && on.Total > 0 && v.mean() > 0 {
		share, what := bound(ratio(known(v.load.CPU), v.mean()), 0, 1-min(waits, 1)), "on the CPU"
		if v.busy >= saturated { // while others use it
			share, what = 1-min(waits, 1), "on the CPU, or waits for it"
		}
		list = append(list, parts(on, ratio(on.Total, share), func(*stack) string { return what })...)
	}
	seen := 0.0
	for _, s := range list {
		seen += s.Share
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b diagnose.Spend) int { return cmp.Compare(b.Share, a.Share) })
	list = slices.DeleteFunc(list[:min(len(list), mostSpends)], func(s diagnose.Spend) bool { return s.Share < leastSpend })
	if rest := 1 - seen; rest >= leastSpend {
		what := "waits for events: the network, other servers, timers, a CPU"
		if v.requests.Total > 0 {
			what = "outside of handlers: a CPU, reading the request, writing the answer"
		}
		list = append(list, diagnose.Spend{What: what, Share: rest})
	}
	return list
}

// parts groups stacks by what they do and the place in the server's code, as shares of a whole. what
// returns nothing for those that do not count.
func parts(s *stacks, whole float64, what func(*stack) string) []diagnose.Spend {
	type key struct {
		what, function string
		line           int
	}
	sums := map[key]*diagnose.Spend{}
	heaviest := map[key]float64{}
	for i := range s.List {
		one := &s.List[i]
		does := what(one)
		share := ratio(one.Weight, whole)
		if does == "" || share <= 0 || len(one.Frames) == 0 {
			continue
		}
		at := codeOf(one)
		k := key{does, at.Func, at.Line}
		if sums[k] == nil {
			sums[k] = &diagnose.Spend{What: does, Place: diagnose.Place{Func: at.Func, File: at.File, Line: at.Line}}
		}
		sums[k].Share = min(sums[k].Share+share, 1)
		if one.Weight > heaviest[k] {
			heaviest[k], sums[k].Stack = one.Weight, named(one)
		}
	}
	var list []diagnose.Spend
	for _, x := range sums {
		x.Place.Share = x.Share
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b diagnose.Spend) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.What, b.What), cmp.Compare(a.Place.Func, b.Place.Func), cmp.Compare(a.Place.Line, b.Place.Line))
	})
	return list
}

// codeOf returns the innermost frame of the server's own code with a name, or else of a library.
func codeOf(s *stack) diagnose.Frame {
	for _, kind := range []diagnose.Kind{diagnose.User, diagnose.Library} {
		for _, f := range s.Frames {
			if f.Kind == kind && f.Func != "" {
				return f
			}
		}
	}
	return diagnose.Frame{}
}

// named returns the innermost functions of a stack, without those of the runtime and the kernel unless
// there are no others.
func named(s *stack) (out []string) {
	for _, all := range []bool{false, true} {
		for _, f := range s.Frames {
			if len(out) < mostFrames && f.Func != "" && (all || f.Kind != diagnose.Runtime && f.Kind != diagnose.System) {
				out = append(out, f.Func)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// waitOf says what a request's goroutine does that is not on a CPU.
func waitOf(s *stack) string {
	switch s.State {
	case "running":
		return "" // the stacks of the CPU say more
	case "runnable":
		return "ready to run, without a CPU"
	case "syscall":
		return "in a system call, or C code"
	}
	if why := reason(s); why != "" {
		return "waits (" + why + ")"
	}
	return "waits"
}

// blocks are what blocked threads wait for, by a part of the name of a function of the kernel. Threads
// that wait there for work are left out: nothing.
var blocks = []struct{ part, what string }{
	{"epoll", ""},
	{"do_sys_poll", ""},
	{"do_select", ""},
	{"accept", ""},
	{"io_cqring_wait", ""},
	{"sigwait", ""},
	{"kernel_wait4", ""},
	{"kernel_waitid", ""},
	{"fsync", "waits for the disk"},
	{"fdatasync", "waits for the disk"},
	{"io_schedule", "waits for the disk"},
	{"nanosleep", "sleeps"},
	{"futex", "waits for a lock, or another thread"},
	{"recv", "waits for a socket"},
	{"sock_read", "waits for a socket"},
	{"send", "waits to send"},
	{"sock_write", "waits to send"},
	{"pipe_read", "waits for a pipe"},
	{"pipe_write", "waits for a pipe"},
	{"flock", "waits for the lock of a file"},
	{"fcntl_setlk", "waits for the lock of a file"},
}

// workless matches where threads of a pool wait for work.
var workless = called("pthread_cond_wait*", "___pthread_cond_wait*", "__pthread_cond_wait*", "uv_cond_wait*", "worker_thread", "start_worker*")

// blockOf says what a blocked thread waits for.
func blockOf(s *stack) string {
	if s.Has(workless) {
		return ""
	}
	for _, b := range blocks {
		if slices.ContainsFunc(s.Frames, func(f diagnose.Frame) bool { return f.Kind == diagnose.System && strings.Contains(f.Func, b.part) }) {
			return b.what
		}
	}
	return "waits in the kernel"
}
