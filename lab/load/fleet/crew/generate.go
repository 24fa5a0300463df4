package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/load"
)

// Generate is the [fleet.Generator] of a load.Spec.
func Generate(ctx context.Context, spec json.RawMessage, emit func(json.RawMessage)) error {
	var s load.Spec
	if err := json.Unmarshal(spec, &s); err != nil {
		return fmt.Errorf("read the generator's orders: %w", err)
	}
	var broken error
	err := load.Run(ctx, &s, func(e load.Event) {
		b, err := json.Marshal(e)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("encode an event: %w", err))
			return
		}
		emit(b)
	})
	return errors.Join(err, broken)
}
