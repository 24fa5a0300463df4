package results

// Verdict is the conclusion of a comparison.
type Verdict string

// The verdicts. Faster means better: less CPU, less time or more requests.
const (
	Faster       Verdict = "faster"
	Slower       Verdict = "slower"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	TooDisturbed Verdict = "disturbed" // too few pairs are usable; see Comparison.Reason
	NoVerdict    Verdict = "none"      // see Comparison.Reason
)

// Comparison compares one subject with the baseline in one metric. The unit of analysis is
// the block: its pair of runs. A pair of which a gate spoils the metric is left out. Without enough
// usable pairs there is no verdict, and Ratio is that of all pairs. Pairs of an open loop's CPU that
// other processes spoilt may make up for missing ones, with a wider interval: Busy.
type Comparison struct {
	Workload string   `json:"workload"`
	Subject  string   `json:"subject"`
	Baseline string   `json:"baseline"`
	Metric   Metric   `json:"metric"`
	Blocks   int      `json:"blocks"`  // pairs that Ratio is of
	Ratio    Estimate `json:"ratio"`   // subject over baseline: Hodges-Lehmann of log ratios, bootstrap interval
	P        float64  `json:"p"`       // Wilcoxon signed rank, exact if the number of blocks permits
	PHolm    float64  `json:"p_holm"`  // adjusted within the workload and metric
	Floor    float64  `json:"floor"`   // noise floor as a ratio minus one, from the A/A comparison; at least 2 %
	Verdict  Verdict  `json:"verdict"` // of the subject relative to the baseline
	Reason   string   `json:"reason,omitempty"`

	Margin    float64 `json:"margin,omitempty"` // of an equivalence, as a ratio minus one; files of earlier versions lack it, and those below
	Noise     float64 `json:"noise,omitempty"`  // how far the interval of the A/A comparison reaches, as a ratio minus one
	Needed    int     `json:"needed_pairs"`     // for a verdict
	Usable    int     `json:"usable_pairs"`
	Busy      int     `json:"busy_pairs,omitempty"`      // of Usable, an open loop's: measured while other processes used the CPUs
	Widened   float64 `json:"widened,omitempty"`         // how much farther Ratio's interval reaches for what that may have done, as a ratio minus one: the larger of both sides
	Disturbed int     `json:"disturbed_pairs,omitempty"` // left out because the machine was disturbed
	Invalid   int     `json:"invalid_pairs,omitempty"`   // left out for wrong or missing answers, or a late generator
	StealCost float64 `json:"steal_cost,omitempty"`      // of CPU in a closed loop: the log ratio for each unit of stolen time, which was subtracted
}
