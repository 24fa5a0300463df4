package diagnose

import (
	"fmt"

	"github.com/redline-go/redline/lab/report"
)

// worthSaying is the share of failed requests from which the verdict names it.
const worthSaying = 0.01

// verdict says in a sentence or two what limits the server.
func (r *Report) verdict() string {
	knee := r.Evidence.Knee()
	if knee == nil {
		return "The diagnosis ended before the server was loaded at its knee."
	}
	text := fmt.Sprintf("The server reaches %s requests/s with %d connections", report.PerSecond(r.Ceiling), r.Knee)
	if knee.Cores > 0 {
		text += fmt.Sprintf(", and uses %.2f", knee.Cores)
		if all := r.Server.Cores(); knee.Cores <= all {
			text += fmt.Sprintf(" of %.3g", all) // it may borrow the generator's CPU
		}
		text += " CPUs there: "
		if r.Busy(knee) >= Saturated {
			text += "it is limited by CPU"
		} else {
			text += "it waits"
		}
	}
	text += "."
	if knee.Errors >= worthSaying {
		text += fmt.Sprintf(" %s of the requests fail there: the rate is that of the right answers.", report.Share(knee.Errors))
	}
	switch {
	case !r.Valid:
		text += " The load was not valid, so the figures may be the generator's."
	case len(r.Causes) == 0 || r.Causes[0].Gain.Share() < 0.05 && !r.Causes[0].Gain.Fatal:
		text += " No cause was found that would gain 5 % or more."
	}
	return text
}
