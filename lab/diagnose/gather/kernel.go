package gather

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/bpf"
)

// Kernel is the probe of what eBPF counts.
type Kernel struct{ sampler *bpf.Sampler }

// NewKernel returns a probe on the sampler of eBPF among the samplers of a watch; false if there
// is none, because eBPF is not allowed. The watch closes the sampler.
func NewKernel(samplers []watch.Sampler) (*Kernel, bool) {
	for _, s := range samplers {
		if b, ok := s.(*bpf.Sampler); ok {
			return &Kernel{b}, true
		}
	}
	return nil, false
}

// Name returns the name of the probe.
func (*Kernel) Name() string { return "events of the kernel" }

// Window counts for d.
func (k *Kernel) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	before, err := k.sampler.Counts()
	if err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := k.sampler.Counts()
	if err != nil {
		return err
	}
	c := after.Sub(before)
	l.Kernel = kernel(&c)
	return nil
}

// kernel converts the counts of a window to rates.
func kernel(c *bpf.Counts) *diagnose.Kernel {
	seconds := max(c.Span.Seconds(), 1e-3)
	k := &diagnose.Kernel{
		Seconds: seconds, Calls: map[string]diagnose.Syscall{}, Blocked: map[string]float64{}, Parts: map[string]float64{},
		Lookups: float64(c.Lookups+c.Queries) / seconds, Resets: float64(c.TCP.ResetsReceived) / seconds, RunQueue: delay(&c.Waited),
	}
	for name, one := range c.Calls {
		k.Calls[name] = diagnose.Syscall{
			Rate: float64(one.Calls) / seconds, Errors: float64(one.Errors) / seconds, Again: float64(one.Again) / seconds,
			Seconds: one.Seconds() / seconds, Bytes: mean(float64(one.Bytes), float64(one.Moved)),
		}
		if one.Blocked > 0 {
			k.Blocked[name] = one.Blocked / seconds
		}
	}
	for f, n := range c.Failures {
		one := k.Calls[f.Call]
		if one.Codes == nil {
			one.Codes = map[string]float64{}
		}
		one.Codes[f.Code] = float64(n) / seconds
		k.Calls[f.Call] = one
	}
	for i := range c.Peers {
		p := &c.Peers[i]
		k.Peers = append(k.Peers, diagnose.Peer{
			Addr: p.Addr.String(), Protocol: p.Protocol, Connects: float64(p.Connects) / seconds, Sends: float64(p.Sends) / seconds,
			Bytes: mean(float64(p.SentBytes), float64(p.Sends)), Waits: float64(p.Wait.Count()) / seconds, Wait: delay(&p.Wait),
			Resets: float64(p.Resets) / seconds,
		})
	}
	total := 0.0
	for v := range maps.Values(c.KernelCPU) {
		total += v
	}
	for _, part := range slices.Sorted(maps.Keys(c.KernelCPU)) {
		k.Parts[part] = mean(c.KernelCPU[part], total)
	}
	return k
}

func mean(sum, n float64) float64 {
	if n == 0 {
		return 0
	}
	return sum / n
}

func delay(h *bpf.Hist) diagnose.Delay {
	return diagnose.Delay{Mean: h.Mean(), P50: h.Quantile(0.5), P99: h.Quantile(0.99)}
}
