package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
)

const (
	kubectl     = "kubectl"
	clusterWait = 5 * time.Minute  // until the pods run, whose image may have to be pulled
	clusterTime = 10 * time.Minute // of a Job, in addition to its run
	deleteTime  = 30 * time.Second
)

// ofKubernetes lists the flags that require --kubernetes.
var ofKubernetes = []string{"apply", "image", "namespace", "manifests", "kube-context", "pod-cpu", "pod-memory"}

// checkKubernetes rejects flags that a run in a cluster does not support, and flags of a
// cluster without --kubernetes.
func (p *plan) checkKubernetes(changed func(string) bool) error {
	l := &p.flags.kube
	if !l.kubernetes {
		if i := slices.IndexFunc(ofKubernetes, changed); i >= 0 {
			return fmt.Errorf("--%s is for a run in a cluster: add --kubernetes", ofKubernetes[i])
		}
		return nil
	}
	listen, own := strings.CutPrefix(p.flags.fleet.bus, listenPrefix)
	if err := p.checkPods(); err != nil {
		return err
	}
	switch {
	case p.flags.find != "":
		return errors.New("--find starts many runs, and a pod serves one: leave out --find or --kubernetes")
	case l.image == "":
		return errors.New("--kubernetes: name the image of the pods, as --image registry.example/redline:1")
	case !l.apply:
		return p.checkCluster(changed, own)
	case changed("bus-credentials"):
		return errors.New("--bus-credentials: pods do not have the file; put user and password into the URL, as --bus nats://USER:PASSWORD@10.0.0.1:4222")
	case changed("manifests"):
		return errors.New("--apply passes the manifests to kubectl: leave out --apply or --manifests")
	case p.flags.fleet.bus == "":
		return errors.New("--apply coordinates the workers from here: name a NATS server that the pods can reach, as --bus nats://10.0.0.1:4222 or, for a server on this machine, listen:10.0.0.2:4222")
	case own:
		host, _, _ := net.SplitHostPort(listen) // checked before
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return fmt.Errorf("--bus %s: write the address at which the pods reach this machine, as listen:10.0.0.2:4222", p.flags.fleet.bus)
		}
	}
	if doubt := unreachable(p.request.url); doubt != "" {
		p.notes = append(p.notes, doubt)
	}
	return nil
}

// checkPods rejects values that Kubernetes would not accept.
func (p *plan) checkPods() error {
	l := &p.flags.kube
	switch {
	case !kube.IsQuantity(l.podCPU):
		return fmt.Errorf("--pod-cpu %s: write a number of cores, as 2 or 500m", l.podCPU)
	case !kube.IsQuantity(l.podMemory):
		return fmt.Errorf("--pod-memory %s: write an amount, as 512Mi or 1Gi", l.podMemory)
	case l.namespace != "" && !kube.IsName(l.namespace):
		return fmt.Errorf("--namespace %q: write lower-case letters, digits and -, as load-tests", l.namespace)
	case strings.ContainsAny(l.image, " \t\n"):
		return fmt.Errorf("--image %q: write the name of an image, as registry.example/redline:1", l.image)
	}
	return nil
}

// checkCluster is checkKubernetes for a run whose coordinator is also a pod.
func (p *plan) checkCluster(changed func(string) bool, own bool) error {
	if own {
		return fmt.Errorf("--bus %s: in a cluster the coordinator's pod listens; leave it out, or name a server as nats://nats.infra:4222", p.flags.fleet.bus)
	}
	for _, flag := range []string{"json", "csv", "hdr", "html"} {
		if changed(flag) {
			return fmt.Errorf("--%s: the result of a run in a cluster is the log of its coordinator, as JSON; leave it out", flag)
		}
	}
	if p.flags.protocol.cert != "" {
		return errors.New("--cert: its private key would be in the manifests; coordinate the run from here with --apply, or leave it out")
	}
	for _, flag := range []string{"cpu", "pid", "bus-credentials", "control", "profile", "profile-dir"} {
		if changed(flag) {
			return fmt.Errorf("--%s applies to this machine: leave it out of a run in a cluster", flag)
		}
	}
	return nil
}

// kubeFleet returns what the objects of a run have in common.
func (p *plan) kubeFleet(a bus.Address) kube.Fleet {
	l := &p.flags.kube
	return kube.Fleet{
		Name: "redline-" + strings.ToLower(rand.Text()[:8]), Namespace: l.namespace, Image: l.image, Workers: p.workers,
		Worker: []string{WorkerVerb, "--wait=" + clusterWait.String()}, Run: a.Run, Token: a.Token, NATS: a.URL,
		CPU: l.podCPU, Memory: l.podMemory, Deadline: clusterTime + max(p.flags.fleet.wait, clusterWait) + p.flags.warmup + p.duration + p.flags.timeout,
	}
}

// unreachable returns why pods cannot reach a server at a loopback name, unless they use the
// host's network; "" if they can.
func unreachable(u *url.URL) string {
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return fmt.Sprintf("in a pod, %s is the pod itself; write the address at which pods reach the server, as http://shop.default.svc:8080/", host)
	}
	return ""
}

// writeManifests writes the manifests of a run that takes place entirely in a cluster.
func (p *plan) writeManifests(c *cobra.Command, rawURL string) error {
	if doubt := unreachable(p.request.url); doubt != "" {
		fmt.Fprintln(c.ErrOrStderr(), "redline: note:", doubt)
	}
	f := p.kubeFleet(busIdentity(""))
	f.NATS = p.flags.fleet.bus
	var err error
	if f.Coordinator, f.Files, err = p.coordinatorArguments(c.Flags(), rawURL); err != nil {
		return cli.Misuse(err)
	}
	text, err := kube.Render(f)
	if err != nil {
		return cli.Misuse(err) // the remaining errors are about files of the command line
	}
	if p.flags.kube.manifests == "-" {
		_, err = c.OutOrStdout().Write(text)
		return err
	}
	if err := file.Write(p.flags.kube.manifests, text); err != nil {
		return fmt.Errorf("save the manifests: %w", err)
	}
	if !p.flags.quiet {
		_, err = fmt.Fprintf(c.ErrOrStderr(), "%s contains the run's secret. Start it with kubectl apply -f %s; the result is the log: kubectl logs -f job/%s-coordinator\n",
			p.flags.kube.manifests, p.flags.kube.manifests, f.Name)
	}
	return err
}

// coordinatorArguments returns the arguments of the coordinator's pod: the command line without
// the flags for writing manifests; and the files that it names, which the pod contains.
func (p *plan) coordinatorArguments(flags *pflag.FlagSet, rawURL string) (args []string, files map[string][]byte, err error) {
	where := p.flags.fleet.bus
	if where == "" {
		where = fmt.Sprintf("%s0.0.0.0:%d", listenPrefix, kube.Port)
	}
	args = []string{"load", "--bus=" + where, "--json=-", "--quiet"}
	if !flags.Changed("wait") {
		args = append(args, "--wait="+clusterWait.String())
	}
	files = map[string][]byte{}
	add := func(name, value string) { args = append(args, "--"+name+"="+value) }
	flags.Visit(func(f *pflag.Flag) {
		switch name := f.Name; {
		case name == "kubernetes" || name == "bus" || name == "quiet" || slices.Contains(ofKubernetes, name):
		case name == "body-file" || name == "ca":
			path, e := inCluster(files, f.Value.String())
			add(name, path)
			err = errors.Join(err, e)
		case name == "think":
			think, e := thinkInCluster(files, f.Value.String())
			add(name, think)
			err = errors.Join(err, e)
		case name == "targets":
			path, e := targetsInCluster(files, f.Value.String(), rawURL)
			add(name, path)
			err = errors.Join(err, e)
		default:
			if list, ok := f.Value.(pflag.SliceValue); ok {
				for _, value := range list.GetSlice() {
					add(name, value)
				}
				return
			}
			add(name, f.Value.String())
		}
	})
	if rawURL != "" {
		args = append(args, rawURL)
	}
	return args, files, err
}

// inCluster adds a file to those of the pod, and returns its name there.
func inCluster(files map[string][]byte, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	name := filepath.Base(path)
	if there, ok := files[name]; ok && !bytes.Equal(there, data) {
		return "", fmt.Errorf("two files are called %s, which in a cluster are in one directory: rename one", name)
	}
	files[name] = data
	return kube.FilesDir + "/" + name, nil
}

// thinkInCluster is inCluster for a think time, which may name a file.
func thinkInCluster(files map[string][]byte, think string) (string, error) {
	name, ok := dist.File(think)
	if !ok {
		return think, nil
	}
	there, err := inCluster(files, name)
	return "file:" + there, err
}

// targetsInCluster is inCluster for a scenario and the files that it names.
func targetsInCluster(files map[string][]byte, path, base string) (there string, err error) {
	if path == "-" {
		return "", errors.New("--targets -: a pod has no standard input; name a file")
	}
	plan, err := scenario.Load(path, scenario.Options{Base: base})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	for _, name := range plan.Files() {
		if filepath.Dir(name) != filepath.Dir(path) {
			return "", fmt.Errorf("--targets %s names %s: in a cluster all files are in one directory; put it beside the scenario", path, name)
		}
		if _, err := inCluster(files, name); err != nil {
			return "", err
		}
	}
	return kube.FilesDir + "/" + filepath.Base(path), nil
}

// applyWorkers starts the workers in the cluster. remove deletes the created objects.
func (s *session) applyWorkers(ctx context.Context, a bus.Address) (remove func() error, err error) {
	text, err := kube.Render(s.plan.kubeFleet(a))
	if err != nil {
		return nil, err
	}
	var flags []string
	if s.plan.flags.kube.kubeContext != "" {
		flags = append(flags, "--context="+s.plan.flags.kube.kubeContext)
	}
	remove = func() error {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), deleteTime)
		defer stop()
		_, err := kube.Delete(ctx, kubectl, text, flags...)
		return err
	}
	said, err := kube.Apply(ctx, kubectl, text, flags...)
	if err != nil {
		return nil, errors.Join(err, remove()) // some objects may exist
	}
	s.live.Say(said)
	return remove, nil
}
