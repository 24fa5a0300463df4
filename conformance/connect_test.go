package conformance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
			cmd := exec.CommandContext(ctx, runner, append(args, "--", os.Args[0])...)
			cmd.Env = append(os.Environ(), caseVariable+"="+connectCase, addrVariable+"="+kind)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out[max(0, len(out)-200):])
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
