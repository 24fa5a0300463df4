package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError is for [cobra.Command.SetFlagErrorFunc]. It returns a [UsageError] that says
// what to write instead.
func FlagError(c *cobra.Command, err error) error {
	if bad, is := errors.AsType[*pflag.InvalidValueError](err); is && bad.GetFlag() != nil {
		f := bad.GetFlag()
		return Usage("--%s %s: %s; see %s --help", f.Name, bad.GetValue(), wanted(f, bad), c.CommandPath())
	}
	if none, is := errors.AsType[*pflag.NotExistError](err); is && none.GetSpecifiedShortnames() == "" {
		if name := meant(c, none.GetSpecifiedName()); name != "" {
			return Usage("%w; did you mean --%s? See %s --help", err, name, c.CommandPath())
		}
	}
	return Usage("%w; see %s --help", err, c.CommandPath())
}

// wanted describes the values that a flag takes, by its type.
func wanted(f *pflag.Flag, bad *pflag.InvalidValueError) string {
	as := func(otherwise string) string {
		if f.DefValue == "0" || f.DefValue == "[]" || f.DefValue == "0s" {
			return otherwise
		}
		return cmp.Or(f.DefValue, otherwise)
	}
	value := bad.GetValue()
	large := ""
	if errors.Is(bad, strconv.ErrRange) {
		large = "out of range; "
	}
	switch kind := f.Value.Type(); kind {
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("a duration needs a unit: write %ss", value)
		}
		return "write a duration, such as " + as("10s")
	case "int":
		return large + "write an integer, such as " + as("5")
	case "int64":
		return large + "write an integer, such as " + as("1000")
	case "uint", "uint64":
		return large + "write an integer of 0 or more, such as " + as("5")
	case "float64":
		return large + "write a number, such as " + as("0.5")
	case "intSlice":
		return large + "write integers separated by commas, such as 1234,1240"
	case "bool":
		return fmt.Sprintf("write --%s alone, or --%[1]s=false", f.Name)
	case "when":
		return "write auto, always or never"
	default:
		return fmt.Sprintf("not a valid %s (%v)", kind, errors.Unwrap(bad))
	}
}
