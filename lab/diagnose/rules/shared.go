package rules

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

var sharedRules = []rule{
	{
		id: "cpu-shared", level: specific, find: cpuShared,
		meaning:  "other processes, or the hypervisor, take the CPUs, and the server's threads wait for them",
		needs:    "CPU time of all processes, run delays of the server's threads",
		estimate: "the share of the CPUs that others took, as far as the server's threads waited for it",
	},
}

const (
	leastTaken = 0.10 // share of the CPUs that others take from which it matters
	leastDelay = 0.05 // seconds each second that the server's threads wait for a CPU
)

func cpuShared(v *view) *finding {
	s := v.load.Shared
	if s == nil {
		return nil
	}
	others, stolen := v.load.Taken()
	others, stolen = bound(known(others), 0, 1), bound(known(stolen), 0, 1)
	taken, delay, cores := min(others+stolen, 0.95), known(s.Delay), known(v.load.Cores)
	// Time that the hypervisor takes is no delay: the kernel does not notice it.
	if taken < leastTaken || delay < leastDelay && stolen < leastTaken {
		return nil
	}
	lost := taken
	if stolen < leastTaken {
		lost = min(taken, ratio(delay, delay+cores))
	}
	f := &finding{Cause: diagnose.Cause{Outside: true}, blames: map[string]float64{"generator-limit": 1}}
	f.Title = fmt.Sprintf("The CPU is shared: others took %s, threads waited %.1f s a second", percent(taken), delay)
	f.Gain, f.Confidence = diagnose.Gain{Latency: min(lost, ratio(v.load.Each(delay), v.mean())+stolen)}, 0.85
	if ratio(cores+delay, v.cores) >= saturated {
		f.Gain.Latency, f.Gain.Ceiling = lost, lost/(1-lost)
	}
	f.Evidence = []string{
		fmt.Sprintf("Of %d CPUs, other processes used %s; the server used %.2f CPUs, and its backends %.2f.", s.CPUs, percent(others), cores, known(s.Backends)),
		fmt.Sprintf("The server's threads could run and had no CPU for %.2f s each second, by their run delays; that includes waiting for each other.", delay),
	}
	if stolen > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The hypervisor took %s of the CPUs' time.", percent(stolen)))
	}
	if len(s.Names) > 0 {
		f.Evidence = append(f.Evidence, "Those that used most, in CPUs: "+strings.Join(s.Names, ", ")+".")
	}
	f.Advice = []string{
		"Find the others with top, and give them or the server CPUs of its own: cpuset, CPUAffinity, requests and limits in Kubernetes.",
		"If the hypervisor takes them, use a machine whose CPUs are not shared; the shares of the other causes hold as they are.",
	}
	return f
}
