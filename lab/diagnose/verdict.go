package diagnose

import (
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/report"
)

// worthSaying is the share of failed requests from which the verdict names it.
const worthSaying = 0.01

// verdict says in a sentence or two what limits the server. A sentence has the figures of one
// measurement: the rate, the connections and the CPU time of the point of the sweep with the highest
// rate.
func (r *Report) verdict() string {
	knee := r.Evidence.Knee()
	if knee == nil {
		return "The diagnosis ended before the server was loaded at its knee."
	}
	text := "The sweep is missing."
	if best := r.Best(); best != nil {
		text = fmt.Sprintf("The server reaches %s requests/s with %d connections", report.PerSecond(best.Rate), best.Connections)
		if best.CPU > 0 {
			text += fmt.Sprintf(", and uses %s there: %s", r.cpus(best.CPU), r.limit(best.CPU, knee))
		}
		text += "."
	}
	if r.differs(knee) {
		text += fmt.Sprintf(" Under the load of which the causes are, with %d connections, it uses %s: it is limited by CPU.", knee.Connections, r.cpus(knee.Cores))
	}
	if knee.Errors >= worthSaying {
		text += fmt.Sprintf(" %s of the requests fail there: the rate is that of the right answers.", report.Share(knee.Errors))
	}
	switch {
	case !knee.Generator.Valid:
		text += " The load was not valid, so the figures may be the generator's."
	case len(r.Causes) == 0 || r.Causes[0].Gain.Share() < Worth && !r.Causes[0].Gain.Fatal:
		text += " No cause was found that would gain 5 % or more."
	}
	return text
}

// Best returns the point of the sweep with the highest rate; nil without one.
func (e *Evidence) Best() (best *Point) {
	for i := range e.Sweep {
		if p := &e.Sweep[i]; best == nil || p.Rate > best.Rate {
			best = p
		}
	}
	return best
}

// cpus writes how many CPUs are in use, of those there are. It may borrow the generator's.
func (r *Report) cpus(used float64) string {
	if all := r.Server.Cores(); used <= all {
		return fmt.Sprintf("%.2f of %.3g CPUs", used, all)
	}
	return fmt.Sprintf("%.2f CPUs", used)
}

// nearly is the share of the CPUs in use from which a server that saturates them under the knee is
// limited by them.
const nearly = 0.6

// limit says what limits a server that uses so many CPUs. If a cause says that the
// CPU is short, the server does not wait for anything else.
func (r *Report) limit(used float64, knee *Load) string {
	busy := used / r.Server.Cores()
	short := r.names("cpu-bound") || r.names("cpu-shared")
	switch {
	case busy >= Saturated, busy >= nearly && r.Busy(knee) >= Saturated:
		return "it is limited by CPU"
	case short && r.Busy(knee) < Saturated:
		return "it waits for a CPU, which others use"
	case r.Busy(knee) >= Saturated:
		return "more connections make it use more"
	}
	return "it waits"
}

// differs reports whether the CPUs are saturated under the highest load and were not at the point of
// the sweep with the highest rate.
func (r *Report) differs(knee *Load) bool {
	best := r.Best()
	return r.Busy(knee) >= Saturated && (best == nil || best.CPU < nearly*r.Server.Cores())
}

func (r *Report) names(id string) bool {
	return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.ID == id })
}
