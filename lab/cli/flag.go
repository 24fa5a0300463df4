package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError is what cobra calls when a command line cannot be read: it makes a
// [UsageError] that says what to write instead.
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

// wanted says what a flag takes, by its type.
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
		large = "that is too much or too little; "
	}
	switch kind := f.Value.Type(); kind {
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("a time has its unit, write %ss", value)
		}
		return "write a time, as " + as("10s")
	case "int":
		return large + "write a whole number, as " + as("5")
	case "uint", "uint64":
		return large + "write a whole number from 0 up, as " + as("5")
	case "float64":
		return large + "write a number, as " + as("0.5")
	case "intSlice":
		return large + "write whole numbers with commas between them, as 1234,1240"
	case "bool":
		return fmt.Sprintf("write --%s alone, or --%[1]s=false", f.Name)
	case "when":
		return "write auto, always or never"
	default:
		return fmt.Sprintf("that is no %s (%v)", kind, errors.Unwrap(bad))
	}
}
