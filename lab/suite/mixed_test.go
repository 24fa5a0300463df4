package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/results"
)

func TestSizesOfAnswers(t *testing.T) {
	for name, size := range answerSizes {
		w := findWorkload(name)
		if len(w.answer.body) != size || w.path != fmt.Sprintf("/bytes?size=%d", size) || w.floor {
			t.Errorf("%s requests %s for %d bytes", name, w.path, len(w.answer.body))
		}
	}
	if w := findWorkload("get10m"); w.connections != manyConnections {
		t.Errorf("get10m has %d connections", w.connections)
	}
}

func TestSizesOfOrders(t *testing.T) {
	for name, size := range orderSizes {
		w := findWorkload(name)
		var order struct{ Items []orderItem }
		if err := json.Unmarshal(w.body, &order); err != nil || len(w.body) != size || len(order.Items) == 0 {
			t.Fatalf("%s: %d bytes with %d items: %v", name, len(w.body), len(order.Items), err)
		}
		total := 0
		for _, i := range order.Items {
			total += i.Quantity * i.Price
		}
		if want := fmt.Sprintf(`{"items":%d,"total":%d}`, len(order.Items), total); string(w.answer.body) != want {
			t.Errorf("%s: answer %s, want %s", name, w.answer.body, want)
		}
		if head := string(w.request("a", "")); !strings.Contains(head, "\r\nContent-Type: application/json\r\n") {
			t.Errorf("%s: %.200s", name, head)
		}
	}
}

// TestPageParts compares the parts with the figures in their comment.
func TestPageParts(t *testing.T) {
	requests, sum := 0.0, 0.0
	for _, p := range pageParts {
		requests += p.weight
		sum += p.weight * float64(p.size)
	}
	if requests != 56 || int(sum/requests) != 34632 {
		t.Errorf("%v requests of %.0f bytes", requests, sum/requests)
	}
}

// TestBenchMeasuresSizes measures the mix, and one workload of each kind.
func TestBenchMeasuresSizes(t *testing.T) {
	once(t)
	cfg := configOf(t, "sizes")
	cfg.Workloads = []string{"mix", "get256k", "post20k"}
	cfg.Window = pace.Window(300 * time.Millisecond)
	c := catalogueOf(t, "sizes")
	c.external["sizes"].Workloads = []string{familySizes}
	f := compareSome(t, cfg, c, 1)
	if w := f.Workloads[0]; !strings.Contains(w.Path, "css (9984)") || w.Lead != results.MetricCPU || w.Family != familySizes {
		t.Errorf("workload %+v", w)
	}
	for _, r := range f.Runs {
		if r.Failed != "" || r.Requests == 0 || results.CountErrors(r.Errors) > 0 {
			t.Errorf("%s: failed %q, %d requests, errors %v", r.ID, r.Failed, r.Requests, r.Errors)
		}
		var names []string
		for _, one := range r.Targets {
			names = append(names, one.Name)
		}
		if want := []string{"html", "css", "font", "javascript", "image"}; r.Workload == "mix" && !slices.Equal(names, want) {
			t.Errorf("%s: targets %v, want %v", r.ID, names, want)
		}
	}
}

// TestWrongSizesAreFound has subjects that answer with one byte wrong, or one too many.
func TestWrongSizesAreFound(t *testing.T) {
	for _, flaw := range []string{"wrong-byte", "long"} {
		cfg := configOf(t, flaw)
		cfg.Workloads = []string{"mix"}
		c := catalogueOf(t, flaw)
		c.external[flaw].Workloads = []string{familySizes}
		if _, err := compareNow(t, t.Context(), cfg, c, nil); err == nil || !strings.Contains(err.Error(), "not the same work: GET /bytes?size=9216: body is") {
			t.Errorf("%s: %v", flaw, err)
		}
	}
}
