package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestFlagError checks that errors name the flag and value, and say what to write.
func TestFlagError(t *testing.T) {
	for args, want := range map[string]string{
		"-d 5":            "--duration 5: a duration needs a unit: write 5s; see redline --help",
		"--duration 2.5":  "--duration 2.5: a duration needs a unit: write 2.5s",
		"--duration fast": "--duration fast: write a duration, such as 10s",
		"--stall x":       "--stall x: write a duration, such as 10s",
		"-c abc":          "--connections abc: write an integer, such as 64",
		"-c 1.5":          "--connections 1.5: write an integer, such as 64",
		"-c 99999999999999999999": "--connections 99999999999999999999: out of range; " +
			"write an integer, such as 64",
		"--requests 1k":                   "--requests 1k: write an integer, such as 1000; see redline --help",
		"--requests 99999999999999999999": "--requests 99999999999999999999: out of range; write an integer, such as 1000",
		"--seed -1":                       "--seed -1: write an integer of 0 or more, such as 5",
		"--pid abc":                       "--pid abc: write integers separated by commas, such as 1234,1240",
		"--share half":                    "--share half: write a number, such as 0.25",
		"--quiet=maybe":                   "--quiet maybe: write --quiet alone, or --quiet=false",
		"--address here":                  "--address here: not a valid ip (",
		"--nonsense":                      "unknown flag: --nonsense; see redline --help",
		"-d":                              "flag needs an argument: 'd' in -d; see redline --help",
	} {
		c := &cobra.Command{Use: "redline", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
		f := c.Flags()
		f.DurationP("duration", "d", 10*time.Second, "")
		f.Duration("stall", 0, "")
		f.IntP("connections", "c", 64, "")
		f.Int64("requests", 0, "")
		f.Uint64("seed", 0, "")
		f.IntSlice("pid", nil, "")
		f.Float64("share", 0.25, "")
		f.Bool("quiet", false, "")
		f.IP("address", nil, "")
		c.SetFlagErrorFunc(FlagError)
		c.SetArgs(strings.Fields(args))
		err := c.Execute()
		var usage UsageError
		if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("%s: %v; want %s", args, err, want)
		}
	}
}
