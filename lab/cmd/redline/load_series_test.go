package main

import "testing"

// TestLoadSeries has points of each target of a scenario, also of several workers together, and of what
// the hypervisor and other processes took.
func TestLoadSeries(t *testing.T) {
	for name, more := range map[string][]string{"one": nil, "open": {"-r", "300"}, "HTTP/2": {"--http2"}, "two workers": {"--workers", "2"}} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, hello)
			_, out, said := loadOf(t, t.Context(), append(more, "--targets", targets(t), "-c", "4", "-d", "3s", "--warmup", "0", "--allow-invalid", "--json", "-", url)...)
			d := documentOf(t, out)
			var answered [2]int
			read := 0
			for _, p := range d.Series {
				if len(p.Targets) > 0 && len(p.Targets) != len(d.Targets) {
					t.Errorf("at %v: %+v", p.T, p.Targets)
				}
				for i, target := range p.Targets {
					if (target.Rate > 0) != (target.P50Us > 0) || target.P99Us < target.P50Us {
						t.Errorf("at %v: %+v", p.T, target)
					}
					if target.Rate > 0 {
						answered[i]++
					}
				}
				if p.Steal != nil && p.Foreign != nil {
					read++
				}
				if p.Held < 0 || p.Held > 1 {
					t.Errorf("at %v: held for %v of the time", p.T, p.Held)
				}
			}
			if answered[0] == 0 || answered[1] == 0 {
				t.Errorf("%v points of targets, of %d points; %s", answered, len(d.Series), said)
			}
			t.Logf("%d readings of who used the CPUs", read) // none on a machine where a reading takes long
		})
	}
}
