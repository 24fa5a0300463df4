package spawn

import (
	"os"
	"strings"
)

// Environ is the environment without what would tune a Go runtime differently
// from its defaults.
func Environ() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG":
		default:
			env = append(env, kv)
		}
	}
	return env
}
