package rules

import (
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
)

const (
	// saturated is the share of the CPUs from which the CPU limits the rate: the rest is lost to
	// the scheduler, and to the variation of a short window.
	saturated = diagnose.Saturated
	// usable is the share of the CPUs that a server uses at best, with the generator beside it.
	usable = 0.95
	// sampled are the samples of a second of CPU time.
	sampled = 99
	// chance is how many standard errors a share has to be above another one to be larger.
	chance = 2
	// dominant is the share of a request's time from which a queue is what limits the rate.
	dominant = 0.5
)

// beyond returns the share of the CPU time that a server saves if a kind of work shrinks from a
// share to the one that it has in a healthy server: the rest of the work stays as it is. It is 0 if
// so few samples may show the share by chance.
func (v *view) beyond(share, healthy float64) float64 {
	share = known(share)
	if n := sampled * total(v.load.OnCPU); n > 0 && share-chance*math.Sqrt(share*(1-share)/n) <= healthy {
		return 0
	}
	return bound((share-healthy)/(1-healthy), 0, 1)
}

// saving is the gain of a share of the CPU time. If the CPU limits the server, rate and latency
// of the closed loop follow it; otherwise the latency loses the share of its own CPU time.
func (v *view) saving(share float64) diagnose.Gain {
	share = bound(known(share), 0, 0.99)
	g := diagnose.Gain{CPU: share}
	if v.busy >= saturated {
		g.Latency, g.Ceiling = share, 1/(1-share)-1
	} else {
		g.Latency = share * bound(ratio(v.load.CPU, v.mean()), 0, 1)
	}
	return g
}

// queueing is the gain of removing a queue, for which requests wait a share of their time, and
// with it a share of the CPU time. The closed loop is then as much faster, up to the limit of the
// CPUs. If most of the time is spent there, the queue is what limits the rate, and the CPUs are
// the next limit.
func (v *view) queueing(cpu, wait float64) diagnose.Gain {
	g := v.saving(cpu)
	wait = bound(known(wait), 0, 0.99)
	busy := v.busy * (1 - g.CPU)
	g.Latency = max(g.Latency, min(wait, max(1-busy/usable, 0)))
	g.Ceiling = max(g.Ceiling, 1/(1-g.Latency)-1)
	if wait >= dominant && busy > 0 {
		g.Ceiling = max(g.Ceiling, min(max(usable/busy-1, 0), mostCeiling))
	}
	return g
}

// both is the gain of a wait that does not limit the rate, for a share of the requests' time, and
// of a share of the CPU time. The latency is that at the same rate: while the CPUs are saturated,
// a shorter wait is a longer one for the CPU.
func (v *view) both(cpu, wait float64) diagnose.Gain {
	g := v.saving(cpu)
	wait = bound(known(wait), 0, 0.99)
	if v.busy >= saturated {
		wait = min(wait, max(1-v.busy*(1-g.CPU)/usable, 0))
	}
	g.Latency = max(g.Latency, wait)
	return g
}

// latency is the gain of what delays requests whatever the CPUs do.
func latency(share float64) diagnose.Gain {
	return diagnose.Gain{Latency: bound(known(share), 0, 0.99)}
}

// join adds two gains: the greater of the latencies, as they overlap.
func join(a, b diagnose.Gain) diagnose.Gain {
	return diagnose.Gain{
		CPU: bound(a.CPU+b.CPU, 0, 0.99), Latency: max(a.Latency, b.Latency), Ceiling: max(a.Ceiling, b.Ceiling), Fatal: a.Fatal || b.Fatal,
	}
}

const (
	// enoughCPU is the CPU time of stacks, in seconds, below which shares are rough: 100 samples
	// at 99 a second.
	enoughCPU = 1.0
	// enoughAnswers is the number of answers below which figures per answer are rough.
	enoughAnswers = 200
	// few is the factor of the confidence in shares of hardly any CPU stacks.
	few = 0.4
	// minor is the least factor of the confidence in a cause that costs CPU time while the server
	// is mostly idle.
	minor = 0.5
	// rough is the factor of the confidence in rough figures.
	rough = 0.7
)

// sureOfCPU lowers a confidence if there are few CPU stacks.
func (v *view) sureOfCPU(confidence float64) float64 {
	return confidence * (few + (1-few)*bound(total(v.load.OnCPU)/enoughCPU, 0, 1))
}

// weigh lowers the confidence in a cause that costs CPU time if the CPU is not what limits the
// server: it is a minor one.
func (v *view) weigh(f *finding) {
	if g := f.Gain; v.busy > 0 && g.CPU > (diagnose.Gain{Latency: g.Latency, Ceiling: g.Ceiling}).Share() {
		f.Confidence *= bound(v.busy/saturated, minor, 1)
	}
}

// sureOfWaits lowers a confidence if there were few answers, or the share of the CPUs in use is
// not known.
func (v *view) sureOfWaits(confidence float64) float64 {
	if v.load.Latency.Count > 0 && v.load.Latency.Count < enoughAnswers {
		confidence *= rough
	}
	if v.busy == 0 {
		confidence *= rough
	}
	return confidence
}

// using says how much of the CPUs the server uses, and that it would use more.
func (v *view) using() string {
	text := fmt.Sprintf("%.2f of %.3g CPUs", known(v.load.Cores), v.cores)
	if v.busy >= saturated && ratio(v.load.Cores, v.cores) < saturated {
		text += ", and its threads wait for more"
	}
	return text
}

func percent(x float64) string   { return report.Percent(known(x)) }
func bytesOf(x float64) string   { return report.Bytes(known(x), " ") }
func duration(s float64) string  { return report.Seconds(known(s)) }
func perSecond(x float64) string { return report.PerSecond(known(x)) }
