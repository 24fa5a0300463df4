package spawn

import (
	"os"
	"strings"
)

// Environ returns the environment without variables that change the defaults of a Go
// runtime.
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
