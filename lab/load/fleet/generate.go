package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
)

// Generate is the [Generator] of a spec.Spec. It adds values to the result that the
// coordinator cannot measure on another machine: steal time, and the time that the
// generator's thread was ready to run while another thread used its CPU.
func Generate(ctx context.Context, order json.RawMessage, emit func(json.RawMessage)) error {
	var s spec.Spec
	if err := json.Unmarshal(order, &s); err != nil {
		return fmt.Errorf("read the generator's spec: %w", err)
	}
	cpus, err := probe.Allowed()
	if err != nil {
		return err
	}
	var broken error
	var begin probe.Ticks
	see := func(e spec.Event) (err error) {
		switch {
		case e.Window:
			begin, err = probe.ReadTicks(cpus)
		case e.Result != nil:
			var end probe.Ticks
			end, err = probe.ReadTicks(cpus)
			share := e.Result.Waited / e.Result.Seconds
			e.Result.Steal, e.Result.Foreign = end.Steal(begin), &share
		}
		return err
	}
	err = load.Run(ctx, &s, func(e spec.Event) {
		broken = errors.Join(broken, see(e))
		b, err := json.Marshal(e)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("encode an event: %w", err))
			return
		}
		emit(b)
	})
	return errors.Join(err, broken)
}
