package pushredis

import "time"

// Skew moves the clock that the registry sees.
func (r *Registry) Skew(d time.Duration) { r.skew.Add(d.Milliseconds()) }
