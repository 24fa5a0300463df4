package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"prometheus": "prometheus=:9464", "prometheus=127.0.0.1:1": "prometheus=127.0.0.1:1",
		"remote-write=http://ann:s3cret@h:1/w":   "remote-write=http://h:1/w",
		"otlp":                                   "otlp=http://localhost:4318/v1/metrics",
		"otlp=https://ann@h/base":                "otlp=https://h/base/v1/metrics",
		"otlp=http://h/v1/metrics":               "otlp=http://h/v1/metrics",
		"influxdb=http://h:8086?org=o&bucket=b":  "influxdb=http://h:8086/api/v2/write?bucket=b&org=o&precision=ns",
		"influxdb=http://h:8086/?db=d":           "influxdb=http://h:8086/write?db=d&precision=ns",
		"influxdb=http://h/proxy/write?db=d":     "influxdb=http://h/proxy/write?db=d&precision=ns",
		"influxdb=" + filepath.Join(dir, "x.lp"): "influxdb=" + filepath.Join(dir, "x.lp"),
	} {
		o, err := Parse(text)
		if err != nil || o.String() != want {
			t.Errorf("%s: %s, %v", text, o, err)
		}
		if is := o.File() != ""; is != strings.HasSuffix(text, ".lp") {
			t.Errorf("%s: file %q", text, o.File())
		}
	}
	for text, want := range map[string]string{
		"":                                  "that is not a format: write prometheus=:9464",
		"csv=x":                             `"csv" is not a format`,
		"http://ann:s3cret@h/":              "that is not a format",
		"prometheus=9464":                   "prometheus: write the address to listen at, as prometheus=:9464",
		"remote-write":                      "want a URL, as remote-write=http://127.0.0.1:9090/api/v1/write",
		"remote-write=http://h:port/":       "want a URL",
		"remote-write=ftp://ann:s3cret@h/":  "want a URL",
		"otlp=localhost:4318":               "want a URL, as otlp=http://localhost:4318",
		"otlp=http://h/?token=s3cret":       "leave the password or token out of the query",
		"influxdb":                          "influxdb: want a URL or a file",
		"influxdb=-":                        "influxdb: want a URL or a file",
		"influxdb=http://h:8086":            "name the bucket of version 2",
		"influxdb=http://h?db=a&bucket=b":   "name the bucket of version 2",
		"influxdb=http://h?db=a&u=x&p=hush": "leave the password or token out",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The variables of OpenTelemetry configure OTLP.
func TestOTLPEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const prefix = "OTEL_EXPORTER_OTLP_"
	for _, c := range []struct {
		env  []string // pairs
		want string   // of the output, or of the error
	}{
		{[]string{"ENDPOINT", "http://c:1/x"}, "otlp=http://c:1/x/v1/metrics"},
		{[]string{"ENDPOINT", "http://c:1", "METRICS_ENDPOINT", "http://m:1/x"}, "otlp=http://m:1/x"},
		{[]string{"PROTOCOL", "http/protobuf", "TIMEOUT", "500", "COMPRESSION", "none"}, "otlp=http://localhost:4318/v1/metrics"},
		{[]string{"PROTOCOL", "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL is not http/json"},
		{[]string{"PROTOCOL", "http/json", "METRICS_PROTOCOL", "grpc"}, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is not http/json"},
		{[]string{"TIMEOUT", "1s"}, "OTEL_EXPORTER_OTLP_TIMEOUT=1s: want a number of milliseconds"},
		{[]string{"COMPRESSION", "zstd"}, "want gzip or none"},
		{[]string{"METRICS_HEADERS", "s3cret"}, "OTEL_EXPORTER_OTLP_METRICS_HEADERS: write it as NAME=VALUE"},
		{[]string{"HEADERS", "a=%zz"}, "OTEL_EXPORTER_OTLP_HEADERS: write it as NAME=VALUE"},
		{[]string{"CERTIFICATE", filepath.Join(dir, "absent")}, "read the trusted certificates: "},
		{[]string{"CERTIFICATE", filepath.Join(dir, "empty")}, "contains no certificate in PEM"},
		{[]string{"CLIENT_KEY", "k"}, "set both variables, or none"},
		{[]string{"CLIENT_KEY", "k", "CLIENT_CERTIFICATE", "c"}, "read the client's certificate: "},
	} {
		t.Run(strings.Join(c.env, " "), func(t *testing.T) {
			for pair := range slices.Chunk(c.env, 2) {
				t.Setenv(prefix+pair[0], pair[1])
			}
			o, err := Parse("otlp")
			if err == nil {
				_, err = o.receiver("1")
			}
			got := o.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || (err == nil) != strings.HasPrefix(c.want, "otlp=") || strings.Contains(got, "s3cret") {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	t.Run("resource", func(t *testing.T) {
		env := map[string]string{"OTEL_SERVICE_NAME": "shop-load", "OTEL_RESOURCE_ATTRIBUTES": "service.name=x,team=a%20b,host.name=h"}
		list, err := resourceOf(func(name string) string { return env[name] }, "1")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, a := range list {
			if _, twice := got[a.Key]; twice {
				t.Errorf("%s is present twice", a.Key)
			}
			got[a.Key] = a.Value.String
		}
		if got["service.name"] != "shop-load" || got["team"] != "a b" || got["host.name"] != "h" || got["service.version"] != "1" {
			t.Errorf("%v", got)
		}
	})
}
