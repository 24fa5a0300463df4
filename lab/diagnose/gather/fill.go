package gather

import (
	"cmp"
	"math"
	"slices"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// fill adds what the generator measured.
func fill(l *diagnose.Load, doc *present.Document) {
	l.Seconds, l.Rate, l.Errors, l.Kinds = doc.Seconds, doc.RequestsPerSecond, doc.ErrorRatio, doc.Errors
	l.Latency, l.Reconnect = latency(&doc.Latency), doc.Config.PerConnection
	if doc.FirstByte != nil {
		l.FirstByte = latency(doc.FirstByte)
	}
	if doc.InFlight != nil {
		l.InFlight = doc.InFlight.Mean
	}
	if s := doc.Server; s != nil && doc.Seconds > 0 {
		used := s.CPU.UserSeconds + s.CPU.SysSeconds
		l.Cores, l.CPU = used/doc.Seconds, s.CPU.PerRequestUs/1e6
		if used > 0 {
			l.System = s.CPU.SysSeconds / used
		}
	}
	if n := float64(doc.Answers); n > 0 {
		l.Answer, l.Request = float64(doc.BytesIn)/n, float64(doc.BytesOut)/n
	}
	// Connections are counted since the generator began, and so is the warm-up.
	spent := doc.Seconds + doc.Generator.WarmupSeconds
	if all := doc.RequestsPerSecond * spent; all > 0 {
		l.Connects = max(0, float64(doc.Connects.Made)-float64(l.Connections)) / all
		if t := doc.TLS; t != nil {
			l.TLS = &diagnose.TLS{Handshakes: max(0, float64(t.Handshakes)-float64(l.Connections)) / all}
			if t.Handshakes > 0 {
				l.TLS.Resumed = float64(t.Resumed) / float64(t.Handshakes)
			}
		}
	}
	l.Generator.CPU = doc.Generator.CPUUtilisation
	l.Generator.Stolen, l.Generator.Notes = doc.Generator.StealRatio, notes(doc.Gates)
	l.Generator.Valid, l.Generator.Why = doc.BelievedDisturbed()
	if f := doc.Generator.ForeignRatio; f != nil {
		l.Generator.Foreign = *f
	}
}

// notes returns the disturbances that no figure of the evidence has.
func notes(gates []results.Gate) (texts []string) {
	for _, g := range results.Disturbed(gates) {
		if g.Name != "steal" && g.Name != "foreign CPU" {
			texts = append(texts, g.Text)
		}
	}
	return texts
}

// quantile converts a quantile in microseconds; nil is 0.
func quantile(us *float64) float64 {
	if us == nil {
		return 0
	}
	return *us / 1e6
}

func latency(l *results.Latency) diagnose.Latency {
	return diagnose.Latency{
		Count: l.Count, Mean: l.MeanUs / 1e6, Max: l.MaxUs / 1e6,
		P50: quantile(l.P50), P90: quantile(l.P90), P99: quantile(l.P99), P3: quantile(l.P999), Steps: steps(l),
	}
}

// The histogram is looked at in bins of a quarter of a power of two. A peak is a bin that holds
// more than both neighbours, and with them a twentieth of all.
const (
	binsPerOctave = 4
	leastStep     = 0.05
	leastCount    = 100 // fewer requests have no shape
)

// steps returns the peaks of a distribution.
func steps(l *results.Latency) []diagnose.Step {
	h, err := l.Decode()
	if err != nil || h.TotalCount() < leastCount {
		return nil
	}
	bins := map[int]float64{}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 && bar.From > 0 {
			bins[int(math.Floor(binsPerOctave*math.Log2(float64(bar.From))))] += float64(bar.Count) / float64(h.TotalCount())
		}
	}
	var out []diagnose.Step
	for b, share := range bins {
		around := bins[b-1] + share + bins[b+1]
		if share > bins[b-1] && share >= bins[b+1] && around >= leastStep {
			out = append(out, diagnose.Step{At: math.Exp2((float64(b)+0.5)/binsPerOctave) / 1e9, Share: around})
		}
	}
	slices.SortFunc(out, func(a, b diagnose.Step) int { return cmp.Compare(a.At, b.At) })
	return out
}
