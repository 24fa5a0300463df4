package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/probe"
)

// manifest holds the fields of an object that the tests use.
type manifest struct {
	Kind       string
	Metadata   struct{ Name, Namespace string }
	StringData map[string]string `yaml:"stringData"`
	BinaryData map[string]string `yaml:"binaryData"`
	Spec       struct {
		Completions int
		Template    struct {
			Spec struct{ Containers []container }
		}
	}
}

type container struct {
	Image string
	Args  []string
	Env   []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			FieldRef     struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
}

// cluster holds the objects: Jobs by the names coordinator and worker, others by kind.
type cluster map[string]manifest

func parse(t *testing.T, text []byte) cluster {
	t.Helper()
	c := cluster{}
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
		name := m.Kind
		if m.Kind == "Job" {
			name = m.Metadata.Name[strings.LastIndexByte(m.Metadata.Name, '-')+1:]
		}
		c[name] = m
	}
}

// pod starts the command of the i-th pod of a Job as a process.
func (c cluster) pod(t *testing.T, job string, i int) *exec.Cmd {
	t.Helper()
	one := c[job].Spec.Template.Spec.Containers[0]
	cmd := exec.CommandContext(t.Context(), os.Args[0], one.Args...)
	for _, e := range one.Env {
		value := e.Value
		switch ref := e.ValueFrom; {
		case ref.SecretKeyRef.Name != "":
			value = c["Secret"].StringData[ref.SecretKeyRef.Key]
		case strings.Contains(ref.FieldRef.FieldPath, "job-completion-index"):
			value = fmt.Sprint(i)
		}
		cmd.Env = append(cmd.Env, e.Name+"="+value)
	}
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func ended(t *testing.T, pods []*exec.Cmd) {
	t.Helper()
	for _, p := range pods {
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %v, %s", p.Args[1:], err, p.Stderr)
		}
	}
}

// The commands of the manifests, started as processes, complete the run.
func TestLoadKubernetesManifests(t *testing.T) {
	once(t)
	const token = "a-token-of-this-test"
	broker, err := bus.Listen("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	url, count := serve(t, hello)
	t.Setenv(kube.EnvToken, token)
	file := filepath.Join(t.TempDir(), "run.yaml")
	code, out, said := loadOf(t, t.Context(), "--kubernetes", "--image", "registry.example/redline:1", "--namespace", "load", "--workers", "2",
		"--manifests", file, "--bus", broker.URL("127.0.0.1"), "-c", "4", "-r", "200", "-d", "500ms", "--warmup", "100ms", "--allow-invalid",
		"-H", "X-A: 1,2", "-H", "X-B: 3", "--threshold", "errors<1%,p50<1h", url)
	if code != 0 || out != "" || !strings.Contains(said, "kubectl apply -f "+file) || count.Load() != 0 {
		t.Fatalf("exit code %d, %q, %s; the server had %d requests", code, out, said, count.Load())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := parse(t, text)
	if len(c) != 3 || c["worker"].Spec.Completions != 2 || c["worker"].Metadata.Namespace != "load" || c["worker"].Spec.Template.Spec.Containers[0].Image != "registry.example/redline:1" {
		t.Fatalf("objects %+v", c)
	}
	t.Setenv(kube.EnvToken, "")
	pods := []*exec.Cmd{c.pod(t, "worker", 0), c.pod(t, "worker", 1)}
	var run string
	for _, e := range c["coordinator"].Spec.Template.Spec.Containers[0].Env {
		if e.Name == kube.EnvRun {
			run = e.Value
		}
	}
	t.Setenv(kube.EnvRun, run)
	t.Setenv(kube.EnvToken, c["Secret"].StringData["token"])
	code, out, said = coordinatorOf(t, c["coordinator"].Spec.Template.Spec.Containers[0].Args)
	ended(t, pods)
	d := documentOf(t, out)
	if code != 0 || said != "" || len(d.Workers) != 2 || d.Open == nil || d.Open.Due != 100 || d.Config.Connections != 4 || len(d.Thresholds) != 2 || d.Workers[1].PID != pods[1].Process.Pid {
		t.Errorf("exit code %d, %q, %+v, workers %+v", code, said, d.Config, d.Workers)
	}
}

// coordinatorOf runs the command of the coordinator's pod. It is a separate process
// because the workers are children of this one.
func coordinatorOf(t *testing.T, args []string) (code int, out, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code reports the failure
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// The pod has the files that the command line names.
func TestLoadKubernetesFiles(t *testing.T) {
	dir := t.TempDir()
	body := filepath.Join(dir, "body.json")
	if err := os.WriteFile(body, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := loadOf(t, t.Context(), "--kubernetes", "--image", "x", "--workers", "2", "--body-file", body, "http://server/")
	c := parse(t, []byte(out))
	if code != 0 || said != "" || len(c) != 5 {
		t.Fatalf("exit code %d, %s, %+v", code, said, c)
	}
	data, err := base64.StdEncoding.DecodeString(c["ConfigMap"].BinaryData["body.json"])
	if args := c["coordinator"].Spec.Template.Spec.Containers[0].Args; err != nil || string(data) != `{"a":1}` ||
		!slices.Contains(args, "--body-file=/etc/redline/body.json") || !slices.Contains(args, "--bus=listen:0.0.0.0:4222") || args[len(args)-1] != "http://server/" {
		t.Errorf("%v, %s, arguments %q", err, data, args)
	}
}

// With --apply kubectl starts the workers, this process coordinates the run, and the
// objects are deleted at the end.
func TestLoadKubernetesApply(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >> " + bin + "/calls\ncat > " + bin + "/$1.part && mv " + bin + "/$1.part " + bin + "/$1.yaml && echo job.batch/redline-worker created\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	url, _ := serve(t, hello)
	started := make(chan []*exec.Cmd, 1)
	go func() { // the cluster
		var pods []*exec.Cmd
		defer func() { started <- pods }()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			text, err := os.ReadFile(filepath.Join(bin, "apply.yaml"))
			if err != nil {
				continue
			}
			c := parse(t, text)
			pods = []*exec.Cmd{c.pod(t, "worker", 0), c.pod(t, "worker", 1)}
			return
		}
	}()
	cmd := []string{
		"load", "--kubernetes", "--apply", "--image", "x", "--kube-context", "here", "--workers", "2", "--bus", "listen:127.0.0.1:0",
		"-c", "4", "-r", "200", "-d", "500ms", "--warmup", "100ms", "--allow-invalid", "--json", "-", url,
	}
	code, out, said := coordinatorOf(t, cmd)
	ended(t, <-started)
	if code != 0 || !strings.Contains(said, "job.batch/redline-worker created") || strings.Contains(said, kube.EnvToken) {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if d := documentOf(t, out); len(d.Workers) != 2 || d.Open.Due != 100 || d.Server == nil || !slices.Contains(d.Server.PIDs, os.Getpid()) {
		t.Errorf("workers %+v, open %+v, server %+v", d.Workers, d.Open, d.Server)
	}
	calls, err := os.ReadFile(filepath.Join(bin, "calls"))
	if want := "apply -f - --context=here\ndelete -f - --ignore-not-found --wait=false --context=here\n"; err != nil || string(calls) != want {
		t.Errorf("%v, kubectl was called with\n%s", err, calls)
	}
	made, err := os.ReadFile(filepath.Join(bin, "apply.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if deleted, err := os.ReadFile(filepath.Join(bin, "delete.yaml")); err != nil || !bytes.Equal(made, deleted) {
		t.Errorf("%v; the deleted objects are not the created ones", err)
	}
	if c := parse(t, made); len(c) != 2 {
		t.Errorf("objects %+v", c)
	}
	if tree := probe.Tree(os.Getpid()); len(tree) > 1 {
		t.Errorf("processes left: %v", tree[1:])
	}
}

// A failure of kubectl ends the run with its message.
func TestLoadKubernetesRefuses(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte("#!/bin/sh\n[ $1 = delete ] || { echo quota exceeded; exit 1; }\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), "--kubernetes", "--apply", "--image", "x", "--bus", "listen:127.0.0.1:0", "--json", "-", url)
	if code != 1 || out != "" || !strings.Contains(said, "quota exceeded") {
		t.Errorf("exit code %d, %q, %s", code, out, said)
	}
}

func TestLoadKubernetesUsage(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--image x", "--image is for a run in a cluster"},
		{"--apply", "--apply is for a run in a cluster"},
		{"--kubernetes", "name the image of the pods"},
		{"--kubernetes --image x --apply", "coordinates the workers from here"},
		{"--kubernetes --image x --apply --bus listen::4222", "write the address at which the pods reach this machine"},
		{"--kubernetes --image x --apply --bus nats://h:1 --manifests f", "leave out --apply or --manifests"},
		{"--kubernetes --image x --bus listen:10.0.0.1:4222", "in a cluster the coordinator's pod listens"},
		{"--kubernetes --image x --apply --bus nats://h:1 --bus-credentials f", "pods do not have the file; put user and password into the URL"},
		{"--kubernetes --image x --find p99<1s", "leave out --find or --kubernetes"},
		{"--kubernetes --image x --json -", "--json: the result of a run in a cluster is the log"},
		{"--kubernetes --image x --control s", "--control applies to this machine"},
		{"--kubernetes --image x --pid 1", "--pid applies to this machine"},
		{"--kubernetes --image x --pod-cpu foo", "--pod-cpu foo: write a number of cores, as 2 or 500m"},
		{"--kubernetes --image x --pod-memory 5XB", "--pod-memory 5XB: write an amount, as 512Mi or 1Gi"},
		{"--kubernetes --image x --namespace Bad_NS", `--namespace "Bad_NS": write lower-case letters, digits and -`},
		{"--kubernetes --image x,y --apply --bus nats://h:1 --pod-cpu foo", "--pod-cpu foo: write"},
		{"--kubernetes --image x --body-file " + large, "a ConfigMap holds 921600; use smaller files, or generate a body with --upload SIZE"},
		{"--kubernetes --image x --workers 0", "--workers 0: want at least 1"},
	} {
		code, _, said := loadOf(t, t.Context(), append(strings.Fields(c.args), "http://127.0.0.1:1/")...)
		if code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
}
