package kube

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the golden files")

func example() Fleet {
	return Fleet{
		Name: "checkout", Image: "registry.example/redline:1", Workers: 4,
		Coordinator: []string{"load", "--rate", "100000", "--targets", FilesDir + "/shop.yaml"},
		Worker:      []string{"worker"},
		Files:       map[string][]byte{"shop.yaml": []byte("targets:\n  - GET /\n")},
		Run:         "r1", Token: "secret: \"and\" #quoted", CPU: "2", Memory: "1Gi", Deadline: 15 * time.Minute,
	}
}

func external() Fleet {
	f := example()
	f.Namespace, f.Files, f.NATS = "load", nil, "nats://nats.infra:4222"
	return f
}

func TestGolden(t *testing.T) {
	for name, f := range map[string]Fleet{"embedded": example(), "external": external()} {
		got, err := Render(f)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; run the test with -update and look at the difference", golden)
		}
	}
}

// parse renders a fleet and parses the objects.
func parse(t *testing.T, f Fleet) map[string]any {
	t.Helper()
	b, err := Render(f)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	for dec := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var o map[string]any
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects[fmt.Sprint(o["kind"], "/", at(o, "metadata.name"))] = o
	}
}

// at returns the value at a path, in which a number is the index of a list element.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func TestObjects(t *testing.T) {
	const pod = "spec.template.spec."
	o := parse(t, example())
	for _, c := range []struct {
		object, path string
		want         any
	}{
		{"Secret/checkout", "stringData.token", "secret: \"and\" #quoted"},
		{"Service/checkout", "spec.ports.0.port", 4222},
		{"Job/checkout-worker", "spec.completionMode", "Indexed"},
		{"Job/checkout-worker", "spec.completions", 4},
		{"Job/checkout-worker", "spec.parallelism", 4},
		{"Job/checkout-worker", "spec.backoffLimitPerIndex", 0},
		{"Job/checkout-worker", "spec.maxFailedIndexes", 4},
		{"Job/checkout-worker", "spec.backoffLimit", nil}, // would end all pods after the first failure
		{"Job/checkout-worker", pod + "containers.0.env.1.valueFrom.secretKeyRef.name", "checkout"},
		{"Job/checkout-worker", pod + "containers.0.env.2.value", "nats://checkout:4222"},
		{"Job/checkout-worker", pod + "containers.0.env.3.name", "JOB_COMPLETION_INDEX"},
		{"Job/checkout-coordinator", "spec.completions", 1},
		{"Job/checkout-coordinator", "spec.backoffLimit", 0},
		{"Job/checkout-coordinator", "spec.activeDeadlineSeconds", 900},
		{"Job/checkout-coordinator", pod + "containers.0.ports.0.containerPort", 4222},
		{"Job/checkout-coordinator", pod + "containers.0.volumeMounts.0.mountPath", "/etc/redline"},
	} {
		if got := at(o[c.object], c.path); got != c.want {
			t.Errorf("%s: %s is %v, want %v", c.object, c.path, got, c.want)
		}
	}
	for _, job := range []string{"Job/checkout-worker", "Job/checkout-coordinator"} {
		for path, want := range map[string]any{
			"restartPolicy": "Never", "automountServiceAccountToken": false,
			"securityContext.runAsNonRoot": true, "securityContext.seccompProfile.type": "RuntimeDefault",
			"containers.0.securityContext.allowPrivilegeEscalation": false,
			"containers.0.securityContext.readOnlyRootFilesystem":   true,
			"containers.0.securityContext.capabilities.drop.0":      "ALL",
			"containers.0.resources.requests.cpu":                   "2",
			"containers.0.resources.limits.memory":                  "1Gi",
		} {
			if got := at(o[job], pod+path); got != want {
				t.Errorf("%s: %s is %v, want %v", job, path, got, want)
			}
		}
	}
	// The service must select only the coordinator.
	if got, want := fmt.Sprint(at(o["Service/checkout"], "spec.selector")), fmt.Sprint(at(o["Job/checkout-coordinator"], "spec.template.metadata.labels")); got != want {
		t.Errorf("the service selects %s, the coordinator is %s", got, want)
	}
	if fmt.Sprint(at(o["Service/checkout"], "spec.selector")) == fmt.Sprint(at(o["Job/checkout-worker"], "spec.template.metadata.labels")) {
		t.Error("the service selects workers")
	}
	// Only the Secret contains the token.
	for name, object := range o {
		if b, err := yaml.Marshal(object); err != nil || name != "Secret/checkout" && bytes.Contains(b, []byte("quoted")) {
			t.Errorf("%s holds the token: %v", name, err)
		}
	}
}

func TestExternalServer(t *testing.T) {
	o := parse(t, external())
	if len(o) != 3 {
		t.Errorf("%d objects, want a Secret and two Jobs", len(o))
	}
	for _, job := range []string{"Job/checkout-worker", "Job/checkout-coordinator"} {
		if got := at(o[job], "spec.template.spec.containers.0.env.2.value"); got != "nats://nats.infra:4222" {
			t.Errorf("%s: URL %v", job, got)
		}
		if got := at(o[job], "metadata.namespace"); got != "load" {
			t.Errorf("%s: namespace %v", job, got)
		}
	}
}

// A coordinator outside the cluster has no Job.
func TestWorkersAlone(t *testing.T) {
	f := external()
	f.Coordinator = nil
	if o := parse(t, f); len(o) != 2 || o["Job/checkout-worker"] == nil || o["Secret/checkout"] == nil {
		t.Errorf("objects %v", o)
	}
}

func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Fleet){
		"name":      func(f *Fleet) { f.Name = "Checkout" },
		"namespace": func(f *Fleet) { f.Namespace = "a b" },
		"image":     func(f *Fleet) { f.Image = "" },
		"workers":   func(f *Fleet) { f.Workers = 0 },
		"token":     func(f *Fleet) { f.Token = "" },
		"CPU":       func(f *Fleet) { f.CPU = "two" },
		"memory":    func(f *Fleet) { f.Memory = "" },
		"NATS":      func(f *Fleet) { f.Coordinator, f.Files = nil, nil },
		"no files":  func(f *Fleet) { f.Coordinator, f.NATS = nil, "nats://h:1" },
		"deadline":  func(f *Fleet) { f.Deadline = 0 },
		"file":      func(f *Fleet) { f.Files = map[string][]byte{"a/b": nil} },
		"files":     func(f *Fleet) { f.Files = map[string][]byte{"a": make([]byte, 1<<20)} },
	} {
		f := example()
		change(&f)
		if _, err := Render(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A script replaces kubectl and prints its arguments and input.
func TestApply(t *testing.T) {
	script := filepath.Join(t.TempDir(), "kubectl")
	text := "#!/bin/sh\necho \"$@\"\ncat\n[ \"$4\" != --fail ]\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	said, err := Apply(ctx, script, []byte("kind: Job\n"), "--context", "test")
	if err != nil || said != "apply -f - --context test\nkind: Job" {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := Delete(ctx, script, []byte("kind: Job\n"), "--context", "test"); err != nil || said != "delete -f - --ignore-not-found --wait=false --context test\nkind: Job" {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := Apply(ctx, script, []byte("why not"), "--fail"); err == nil || !strings.Contains(err.Error(), "why not") {
		t.Errorf("a kubectl that fails: %v", err)
	}
}
