package trial

import (
	"fmt"
	"math"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
)

var words = map[string]string{"ceiling": "highest rate", "cpu": "CPU of an answer", "latency": "latency", "rss": "memory"}

// Describe says in a sentence what a trial showed.
func Describe(t *diagnose.Trial) string {
	var parts []string
	for _, s := range t.Effects {
		switch {
		case !s.Clear:
		case s.Figure == "rss":
			sign := "+"
			if s.Change < 0 {
				sign = "-"
			}
			parts = append(parts, fmt.Sprintf("%s %s%s", words[s.Figure], sign, report.Bytes(math.Abs(s.Change), " ")))
		default:
			parts = append(parts, fmt.Sprintf("%s %+.0f %% (%+.0f to %+.0f)", words[s.Figure], 100*s.Change, 100*s.Low, 100*s.High))
		}
	}
	if len(parts) == 0 {
		return t.Change + ": no difference beyond the noise"
	}
	return t.Change + ": " + strings.Join(parts, ", ")
}
