package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// connectConfig says what the server under test offers; the suite then runs 2,412 cases.
const connectConfig = `features:
  versions: [HTTP_VERSION_2]
  protocols: [PROTOCOL_CONNECT, PROTOCOL_GRPC, PROTOCOL_GRPC_WEB]
  codecs: [CODEC_PROTO, CODEC_JSON]
  compressions: [COMPRESSION_IDENTITY, COMPRESSION_GZIP]
  supportsH2c: true
  supportsTls: true
  supportsTlsClientCerts: false
  supportsConnectGet: true
  supportsMessageReceiveLimit: true
`

// connectExpected are the cases of the suite that fail, as its patterns, with the reason.
var connectExpected = map[string]string{}

// connectFailed finds the names of the cases that failed in what the suite prints.
var connectFailed = regexp.MustCompile(`(?m)^FAILED: (.+):$`)

// TestConnect runs Connect's conformance suite, which starts this program as its server.
func TestConnect(t *testing.T) {
	dir := t.TempDir()
	runner, conf := filepath.Join(dir, "connectconformance"), filepath.Join(dir, "config.yaml")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "connectrpc.com/conformance/cmd/connectconformance").CombinedOutput(); err != nil {
		t.Fatalf("build connectconformance: %v\n%s", err, out)
	}
	if err := os.WriteFile(conf, []byte(connectConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			args := []string{"--conf", conf, "--mode", "server"}
			for pattern := range connectExpected {
				args = append(args, "--known-failing", pattern)
			}
			// Cases of deadlines have half a second of grace, which a machine may take for itself: those
			// that fail are run alone, twice more.
			var only []string
			for try := 1; ; try++ {
				cmd := exec.CommandContext(ctx, runner, slices.Concat(args, only, []string{"--", os.Args[0]})...)
				cmd.Env = append(os.Environ(), caseVariable+"="+connectCase, addrVariable+"="+kind)
				out, err := cmd.CombinedOutput()
				t.Logf("%s", out[max(0, len(out)-200):])
				if err == nil {
					break
				}
				only = only[:0]
				for _, failed := range connectFailed.FindAllSubmatch(out, -1) {
					only = append(only, "--run", string(failed[1]))
				}
				// What has no name, or was not run at all, would not be run again.
				unnamed := bytes.Count(out, []byte("FAILED: ")) != len(only)/2 || bytes.Contains(out, []byte("could not be run"))
				if try == 3 || len(only) == 0 || unnamed {
					t.Fatalf("%v\n%s", err, out)
				}
				t.Logf("try %d: %v\n%s", try, err, out)
			}
		})
	}
}

// kinds are the servers of the variants that the flags ask for; the suite asks for each of them
// with and without TLS.
func kinds() (list []string) {
	for _, v := range variants(false) {
		if kind := v.server + "-" + string(v.transport); !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}
