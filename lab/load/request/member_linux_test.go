package request

import (
	"net"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/tally"
)

// The histograms in the ticks of a worker's window add up to that of its result: if the
// worker is lost after a tick, nothing before it is.
func TestMemberTicks(t *testing.T) {
	for name, plan := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 500}} {
		t.Run(name, func(t *testing.T) {
			s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
			order := testSpec(s.addr)
			order.Connections, order.Warmup, order.Window, order.Tick = 4, 50*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
			order.Arrivals, order.Member = plan, true
			events := collectSome(t, order)
			res := events[len(events)-1].Result
			sum, window, last := tally.DeltaHistogram(), false, uint64(0)
			for _, e := range events {
				switch {
				case e.Window:
					window = true
				case e.Tick != nil && window:
					before := sum.TotalCount()
					if err := tally.MergeDelta(sum, e.Tick.Counts); err != nil {
						t.Fatal(err)
					}
					if n := uint64(sum.TotalCount() - before); plan == nil && n != e.Tick.Requests {
						t.Errorf("a tick of %d requests carries %d latencies", e.Tick.Requests, n)
					}
					last += e.Tick.Requests
				case e.Tick != nil && e.Tick.Counts != "":
					t.Error("a tick of the warm-up carries latencies")
				}
			}
			want := decode(t, res.Histogram)
			if plan != nil { // answers after the window are in no tick
				late := want.TotalCount() - sum.TotalCount()
				if late < 0 || sum.TotalCount() == 0 || res.Requests != last {
					t.Errorf("%d latencies in the ticks, %d in all; %d requests of %d", sum.TotalCount(), want.TotalCount(), last, res.Requests)
				}
				return
			}
			late := int64(res.Late + res.Unanswered) // in the result, and in no tick
			if sum.TotalCount() == 0 || sum.TotalCount()+late != want.TotalCount() || late == 0 && (sum.ValueAtQuantile(50) != want.ValueAtQuantile(50) || sum.Max() != want.Max()) {
				t.Errorf("the ticks carry %d latencies to %d, the result %d to %d, %d of them late", sum.TotalCount(), sum.Max(), want.TotalCount(), want.Max(), late)
			}
		})
	}
}
