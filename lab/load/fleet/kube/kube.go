package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Fleet describes a fleet in a cluster.
type Fleet struct {
	Name      string // of the objects, lower-case; different for each run, because Jobs are immutable
	Namespace string // empty: that of kubectl's context
	Image     string // has the redline command as its entry point
	Workers   int

	Coordinator []string          // arguments of the coordinator's container; none: it runs elsewhere and uses the server NATS
	Worker      []string          // arguments of a worker's container
	Files       map[string][]byte // by name; mounted in FilesDir of the coordinator

	Run   string // name of the run, in EnvRun of all containers
	Token string // secret of the run, in EnvToken
	NATS  string // URL of an existing NATS server; empty: the coordinator listens at Port

	CPU, Memory string        // request and limit of each container, such as 2 and 1Gi
	Deadline    time.Duration // after which Kubernetes ends the Jobs
}

// Environment variables, directory and port of the containers.
const (
	EnvRun   = "REDLINE_RUN"          // name of the run
	EnvToken = "REDLINE_TOKEN"        // its secret
	EnvNATS  = "REDLINE_NATS"         // URL of the NATS server; not set in the coordinator if it is embedded
	EnvIndex = "JOB_COMPLETION_INDEX" // index of a worker's share
	FilesDir = "/etc/redline"         // directory of Files
	Port     = 4222                   // of the embedded NATS server
)

const (
	user    = 65532 // the non-root user of distroless images
	keepFor = 24 * time.Hour
	maxFile = 900 << 10 // bytes in a ConfigMap, base64 included
)

var (
	nameForm     = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)
	quantityForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$`)
	fileForm     = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{0,252}$`)
)

// IsQuantity reports whether text is a valid amount of CPU or memory of a Fleet.
func IsQuantity(text string) bool { return quantityForm.MatchString(text) }

// IsName reports whether text is a valid name or namespace of a Fleet.
func IsName(text string) bool { return nameForm.MatchString(text) }

func (f *Fleet) validate() error {
	switch {
	case !IsName(f.Name):
		return fmt.Errorf("name %q: write up to 40 lower-case letters, digits and -, beginning with a letter", f.Name)
	case f.Namespace != "" && !IsName(f.Namespace):
		return fmt.Errorf("namespace %q: write lower-case letters, digits and -", f.Namespace)
	case f.Image == "" || strings.ContainsAny(f.Image, " \n"):
		return fmt.Errorf("image %q: write the reference of an image that has redline as its entry point", f.Image)
	case f.Workers < 1:
		return fmt.Errorf("%d workers: write at least 1", f.Workers)
	case len(f.Coordinator) == 0 && (f.NATS == "" || len(f.Files) > 0):
		return errors.New("a coordinator outside the cluster needs the URL of a NATS server, and no files")
	case f.Run == "" || f.Token == "":
		return errors.New("the run has no name or no token")
	case !IsQuantity(f.CPU):
		return fmt.Errorf("CPU %q: write a number of cores, such as 2 or 500m", f.CPU)
	case !IsQuantity(f.Memory):
		return fmt.Errorf("memory %q: write an amount such as 1Gi", f.Memory)
	case f.Deadline < time.Second:
		return fmt.Errorf("deadline %v: write at least 1s", f.Deadline)
	}
	size := 0
	for name, b := range f.Files {
		if !fileForm.MatchString(name) {
			return fmt.Errorf("file %q: names in a ConfigMap can hold letters, digits, -, _ and . only", name)
		}
		size += base64.StdEncoding.EncodedLen(len(b))
	}
	if size > maxFile {
		return fmt.Errorf("files of %d bytes: a ConfigMap holds %d; use smaller files, or generate a body with --upload SIZE", size, maxFile)
	}
	return nil
}

// Render returns the objects as a stream of YAML documents. It holds the token.
func Render(f Fleet) ([]byte, error) {
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	objects := []object{f.object("v1", "Secret", f.Name, "")}
	objects[0].Type, objects[0].Immutable = "Opaque", true
	objects[0].StringData = map[string]string{"token": f.Token}
	if len(f.Files) > 0 {
		o := f.object("v1", "ConfigMap", f.Name, "")
		o.Immutable, o.BinaryData = true, map[string]string{}
		for name, b := range f.Files {
			o.BinaryData[name] = base64.StdEncoding.EncodeToString(b)
		}
		objects = append(objects, o)
	}
	if f.NATS == "" {
		o := f.object("v1", "Service", f.Name, "")
		o.Spec = serviceSpec{
			Selector: f.labels(coordinator),
			Ports:    []servicePort{{Name: "nats", Port: Port, TargetPort: "nats"}},
		}
		objects = append(objects, o)
	}
	if len(f.Coordinator) > 0 {
		objects = append(objects, f.coordinator())
	}
	objects = append(objects, f.workers())
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			return nil, fmt.Errorf("kubernetes: write %s: %w", o.Kind, err)
		}
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	return out.Bytes(), nil
}

// The components of a fleet, as in labels and names.
const (
	coordinator = "coordinator"
	worker      = "worker"
)

func (f *Fleet) labels(component string) map[string]string {
	l := map[string]string{"app.kubernetes.io/name": "redline", "app.kubernetes.io/instance": f.Name}
	if component != "" {
		l["app.kubernetes.io/component"] = component
	}
	return l
}

func (f *Fleet) object(version, kind, name, component string) object {
	return object{
		APIVersion: version, Kind: kind,
		Metadata: metadata{Name: name, Namespace: f.Namespace, Labels: f.labels(component)},
	}
}

// job returns a Job without the settings of a particular component.
func (f *Fleet) job(component string, n int, args []string, env ...variable) (object, *jobSpec) {
	spec := &jobSpec{
		Completions: n, Parallelism: n,
		ActiveDeadlineSeconds:   int(f.Deadline / time.Second),
		TTLSecondsAfterFinished: int(keepFor / time.Second),
		Template: template{
			Metadata: metadata{Labels: f.labels(component)},
			Spec: podSpec{
				RestartPolicy: "Never", TerminationGrace: 10,
				Security: podSecurity{RunAsNonRoot: true, RunAsUser: user, RunAsGroup: user, Seccomp: seccomp{"RuntimeDefault"}},
			},
		},
	}
	size := map[string]string{"cpu": f.CPU, "memory": f.Memory}
	spec.Template.Spec.Containers = []container{{
		Name: component, Image: f.Image, Args: args,
		Env: append([]variable{
			{Name: EnvRun, Value: f.Run},
			{Name: EnvToken, From: &from{Secret: &secretKey{Name: f.Name, Key: "token"}}},
		}, env...),
		Resources: resources{Requests: size, Limits: maps.Clone(size)},
		Security:  containerSecurity{ReadOnlyRoot: true, Capabilities: capabilities{Drop: []string{"ALL"}}},
	}}
	o := f.object("batch/v1", "Job", f.Name+"-"+component, component)
	o.Spec = spec
	return o, spec
}

func (f *Fleet) coordinator() object {
	var env []variable
	if f.NATS != "" {
		env = append(env, variable{Name: EnvNATS, Value: f.NATS})
	}
	o, spec := f.job(coordinator, 1, f.Coordinator, env...)
	spec.BackoffLimit = new(0)
	c := &spec.Template.Spec.Containers[0]
	if f.NATS == "" {
		c.Ports = []containerPort{{Name: "nats", Port: Port}}
	}
	if len(f.Files) > 0 {
		c.Mounts = []mount{{Name: "files", Path: FilesDir, ReadOnly: true}}
		spec.Template.Spec.Volumes = []volume{{Name: "files", ConfigMap: configMap{f.Name}}}
	}
	return o
}

func (f *Fleet) workers() object {
	url := f.NATS
	if url == "" {
		url = fmt.Sprintf("nats://%s:%d", f.Name, Port)
	}
	index := &from{Field: &fieldPath{"metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
	o, spec := f.job(worker, f.Workers, f.Worker, variable{Name: EnvNATS, Value: url}, variable{Name: EnvIndex, From: index})
	spec.CompletionMode = "Indexed"
	spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = new(0), &f.Workers
	spec.Template.Spec.TopologySpread = []spread{{
		MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: "ScheduleAnyway",
		LabelSelector: selector{f.labels(worker)},
	}}
	return o
}

// Apply passes manifests to kubectl apply, with flags such as --context, and returns its
// output. kubectl is the command's name or path.
func Apply(ctx context.Context, kubectl string, manifests []byte, flags ...string) (string, error) {
	return call(ctx, kubectl, "apply", manifests, flags)
}

// Delete deletes what Apply created, with kubectl delete, and does not wait for completion.
func Delete(ctx context.Context, kubectl string, manifests []byte, flags ...string) (string, error) {
	return call(ctx, kubectl, "delete", manifests, append([]string{"--ignore-not-found", "--wait=false"}, flags...))
}

func call(ctx context.Context, kubectl, verb string, manifests []byte, flags []string) (string, error) {
	cmd := exec.CommandContext(ctx, kubectl, append([]string{verb, "-f", "-"}, flags...)...)
	cmd.Stdin = bytes.NewReader(manifests)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return said, fmt.Errorf("%s %s: %w\n%s", kubectl, verb, err, said)
	}
	return said, nil
}
