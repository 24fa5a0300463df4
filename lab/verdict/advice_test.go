package verdict

import "testing"

func TestAdvice(t *testing.T) {
	for _, gate := range []string{
		"answers", "errors", "unanswered", "steady", "steal", "foreign CPU", "generator", "achieved", "send lag", "pacing", "workers", "given up", "events", "read lag", "clocks", "standing",
		"complete", "published", "publish errors", "publish lag",
	} {
		for _, open := range []bool{false, true} {
			if Advice(gate, open) == "" {
				t.Errorf("no advice for %s", gate)
			}
		}
	}
	if Advice("generator", false) == Advice("generator", true) {
		t.Error("a closed loop has no rate that could be lowered")
	}
	if got := Advice("stamp", false); got != "" {
		t.Errorf("%q", got)
	}
}
