package drive

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/report"
)

// groups are the flags in the order in which one comes to need them. A flag that no
// group names is shown under the last.
var groups = []struct{ title, flags string }{
	{"Load", "connections duration warmup pipeline rate arrivals stages burst find threshold"},
	{"Request", "method header body body-file upload chunked status check timeout"},
	{"Users", "targets try think seed"},
	{"Connections", "requests-per-connection connect-rate sources slow-read slow-write slow-connections max-body keep-going"},
	{"TLS and HTTP/2", "http2 streams insecure tls-insecure ca server-name tls-resume"},
	{"Subscribers of event streams", "sse ndjson length-delimited stamp ids retry stall"},
	{"The server's side", "pid control pprof profile profile-time profile-dir"},
	{"Several generators", "workers bus bus-credentials name wait"},
	{"In a Kubernetes cluster", "kubernetes image namespace manifests apply kube-context pod-cpu pod-memory"},
	{"Results", "json csv hdr html quiet allow-invalid cpu help"},
}

// Usage writes how the verb is called: the flags in groups, in report.Width columns.
// It is a [cobra.Command]'s usage function, and returns the errors of the command's
// output.
func Usage(c *cobra.Command) error {
	var s strings.Builder
	fmt.Fprintf(&s, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
	sets := grouped(c.Flags())
	for i, g := range groups {
		if sets[i].HasAvailableFlags() {
			fmt.Fprintf(&s, "\n%s:\n%s", g.title, sets[i].FlagUsagesWrapped(report.Width))
		}
	}
	_, err := io.WriteString(c.OutOrStdout(), s.String())
	return err
}

// grouped are the flags of each group.
func grouped(f *pflag.FlagSet) []*pflag.FlagSet {
	sets := make([]*pflag.FlagSet, len(groups))
	of := map[string]int{}
	for i, g := range groups {
		sets[i] = pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		sets[i].SortFlags = false
		for _, name := range strings.Fields(g.flags) {
			of[name] = i
			if known := f.Lookup(name); known != nil {
				sets[i].AddFlag(known)
			}
		}
	}
	f.VisitAll(func(one *pflag.Flag) {
		if _, ok := of[one.Name]; !ok {
			sets[len(sets)-1].AddFlag(one)
		}
	})
	return sets
}
