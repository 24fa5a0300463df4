package report

import "testing"

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{-1: "░░░░", 0: "░░░░", 0.5: "██░░", 0.99: "███░", 1: "████", 2: "████"} {
		if got := Bar(share, 4); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}

func TestSpark(t *testing.T) {
	if got := Spark([]float64{0, 1, 4, 7, 8}); got != "▁▂▅██" {
		t.Error(got)
	}
	if got := Spark([]float64{0, 0}); got != "▁▁" {
		t.Error(got)
	}
}
