package rules

import (
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/diagnose"
)

var limitRules = []rule{
	{
		id: "descriptor-limit", level: specific, find: descriptorLimit,
		meaning:  "the process has as many descriptors as it may have, or the server as many connections",
		needs:    "descriptors and the limit of the process; errors with many connections",
		estimate: "share of requests that fail or wait before their handler",
	},
	{
		id: "ephemeral-ports", level: specific, find: ephemeralPorts,
		meaning:  "local ports for outgoing connections run out",
		needs:    "failures of connect(2), or outgoing connections by peer",
		estimate: "share of the answers that are errors, and CPU share of the search for a port",
	},
	{
		id: "cpu-quota", level: specific, find: cpuQuota,
		meaning:  "the control group's CPU quota is used up",
		needs:    "figures of the control group",
		estimate: "the CPUs that the machine has beyond the quota; the latency loses the share of throttled periods",
	},
	{
		id: "gomaxprocs-quota", level: specific, find: procsQuota,
		meaning:  "GOMAXPROCS is far above the CPU quota: all threads run at once, then none",
		needs:    "GOMAXPROCS, the quota, figures of the control group",
		estimate: "80 % of the share of throttled periods, as the threads then share the quota evenly, and 30 % of the CPU share of collection",
	},
	{
		id: "pinning", level: specific, find: pinning,
		meaning:  "the server uses fewer CPUs than it could: GOMAXPROCS, one thread, goroutines locked to threads",
		needs:    "CPU time, the number of CPUs; CPU stacks",
		estimate: "the CPUs that are left, as far as the scalability law allows; CPU share of switching threads",
	},
	{
		id: "generator-limit", level: general, find: generatorLimit,
		meaning:  "the generator is the limit, not the server: the figures say little",
		needs:    "the generator's CPU",
		estimate: "up to the limit of the server's CPUs, twice the rate at most: nothing is known beyond",
	},
}

const (
	fullTable  = 0.95 // share of the descriptors
	failedCall = 0.5  // failures a second that are no accident
)

// failures returns how many calls a second failed with an error, such as EMFILE.
func (v *view) failures(code string) float64 {
	if v.load.Kernel == nil {
		return 0
	}
	sum := 0.0
	for _, c := range v.load.Kernel.Calls {
		sum += known(c.Codes[code])
	}
	return sum
}

// closedAbove is the share of the requests that fail because the server closes their connections,
// from which it has a limit on connections.
const closedAbove = 0.05

// connectionLimit finds a limit of the server itself: with more connections than at the knee, it
// closes some before it answers.
func (v *view) connectionLimit() *finding {
	for i := range v.Loads {
		l := &v.Loads[i]
		failed := float64(l.Kinds["closed"] + l.Kinds["reset"])
		share := known(l.Errors) * ratio(failed, sum(l.Kinds))
		if l.Connections <= v.load.Connections || share < closedAbove || known(v.load.Errors) >= closedAbove {
			continue
		}
		f := &finding{blames: map[string]float64{"accept-queue": 0.9, "generator-limit": 1}}
		f.Title = fmt.Sprintf("The server closes connections beyond some number between %d and %d", v.load.Connections, l.Connections)
		f.Gain, f.Confidence = latency(bound(share, 0, 0.9)), 0.8
		f.Evidence = []string{
			fmt.Sprintf("With %d connections %s of the requests fail because their connection is closed; with %d, %s.", l.Connections, percent(share), v.load.Connections, percent(v.load.Errors)),
		}
		f.Advice = []string{
			"Raise the server's limit on connections (worker_connections of nginx, MaxConnsPerIP, maxclients, a listener that limits).",
			"Keep fewer connections open: shorter keep-alive, HTTP/2.",
		}
		return f
	}
	return nil
}

func sum(kinds diagnose.Counts) (n float64) {
	for _, k := range kinds {
		n += float64(k)
	}
	return n
}

func descriptorLimit(v *view) *finding {
	limit, open := known(v.Server.FileLimit), v.most("descriptors")
	failed := v.failures("EMFILE") + v.failures("ENFILE")
	if (limit <= 0 || open < fullTable*limit) && failed < failedCall {
		return v.connectionLimit()
	}
	f := &finding{blames: map[string]float64{"accept-queue": 0.9}}
	f.Title = fmt.Sprintf("The process has %.0f of %.0f descriptors open", open, limit)
	f.Confidence = 0.95
	late := 1 - ratio(v.requests.Total, v.load.InFlight)
	if v.load.Wall == nil || v.load.InFlight < 1 {
		late = 0
	}
	f.Gain = latency(bound(max(known(v.load.Errors), late, 0.3), 0, 0.9))
	f.Gain.Ceiling = 1/(1-f.Gain.Latency) - 1
	f.Evidence = []string{fmt.Sprintf("The soft limit is %.0f descriptors, and %.0f were open at the same time.", limit, open)}
	if failed > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s calls a second failed because of the limit.", perSecond(failed)))
	}
	if accepts := v.load.Wall.Filter(func(s *stack) bool { return waitsFor(s, "sleep") && s.Has(called("net/http.(*Server).Serve")) }); accepts.Total > 0 {
		f.Evidence = append(f.Evidence, "net/http pauses before it accepts again.")
	}
	f.Advice = []string{
		"Raise the limit: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of containers. A Go program raises its soft limit to the hard one by itself, if nothing has set it.",
		"Bound the connections of clients, and close what is not used (see descriptor-leak).",
	}
	return f
}

const (
	portRange    = 28232 // ports of the usual net.ipv4.ip_local_port_range
	timeWait     = 60.0  // seconds for which Linux keeps a port
	portSearch   = 0.03  // CPU share of the search for a free port
	failedAnswer = 0.01  // share of the answers
)

var portSearching = called("__inet_hash_connect", "inet_hash_connect", "__inet_check_established", "__inet6_check_established", "inet_csk_get_port", "inet_csk_bind_conflict", "inet_csk_find_open_port")

func ephemeralPorts(v *view) *finding {
	failed := v.failures("EADDRNOTAVAIL") + v.failures("EADDRINUSE")
	search := v.cpu(portSearching)
	if failed == 0 && search >= portSearch && v.load.Kernel != nil {
		failed = known(v.load.Kernel.Calls["connect"].Errors) // after a search for a port
	}
	connects, worst := 0.0, ""
	for _, p := range v.peers() {
		if known(p.Connects) > connects {
			connects, worst = known(p.Connects), p.Addr
		}
	}
	used := connects * timeWait
	switch {
	case failed >= failedCall:
	case search >= portSearch && connects > 0:
	case used >= portRange*0.8 && known(v.load.Errors) >= failedAnswer:
	default:
		return nil
	}
	f := &finding{claims: portSearching, blames: map[string]float64{"http-no-reuse": 0.6, "retry-storm": 0.8, "channel-contention": 0.8}}
	f.cpu = v.load.OnCPU.With(portSearching)
	f.Title = "Local ports for outgoing connections run out"
	f.Gain, f.Confidence = v.saving(search), 0.7
	f.Gain.Latency = max(f.Gain.Latency, bound(known(v.load.Errors), 0, 0.9))
	if failed >= failedCall {
		f.Confidence = 0.95
		f.Gain.Latency = max(f.Gain.Latency, bound(v.perRequest(failed), 0.1, 0.9))
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s calls a second failed because no local port was free.", perSecond(failed)))
	}
	if connects > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s connections a second to %s; each keeps its port for a minute after it was closed, of about 28,000.", perSecond(connects), worst))
	}
	if search > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The kernel searches for free ports %s of the CPU time.", percent(search)))
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("%s of the requests failed.", percent(v.load.Errors)))
	f.Advice = []string{
		"Use connections again (see http-no-reuse).",
		"Widen net.ipv4.ip_local_port_range, and set net.ipv4.tcp_tw_reuse=1; connect to several addresses of the other server.",
	}
	return f
}

const (
	leastThrottled = 0.05 // share of the periods
	// tooMany is the ratio of GOMAXPROCS to the quota from which the runtime's choice is wrong:
	// Go 1.25 rounds the quota up, to 2 at least.
	tooMany = 2.0
	// crowdedGC is the share of collection's CPU time that more workers than CPUs cost each other.
	crowdedGC = 0.3
)

// throttled returns the share of the periods in which the quota was used up, and the quota.
func (v *view) throttled() (share, quota float64) {
	if quota = known(v.Server.Quota); quota <= 0 {
		quota = v.figure("cgroup_cpu_quota")
	}
	return bound(ratio(v.rate("cgroup_throttled_periods"), v.rate("cgroup_periods")), 0, 1), quota
}

// excessive reports whether GOMAXPROCS is too high for a quota.
func (v *view) excessive(quota float64) bool {
	return float64(v.Server.Procs) > max(math.Ceil(quota), 2) && float64(v.Server.Procs) >= tooMany*quota
}

func cpuQuota(v *view) *finding {
	share, quota := v.throttled()
	if share < leastThrottled || quota <= 0 {
		return nil
	}
	more := max(float64(max(v.Server.CPUs, 1))/quota-1, 0)
	f := &finding{}
	f.Title = fmt.Sprintf("The CPU quota of %.3g is used up", quota)
	f.Confidence = 0.95
	if v.excessive(quota) {
		f.Confidence = 0.6 // the quota is somebody's decision, and GOMAXPROCS is not
	}
	f.Gain = diagnose.Gain{Latency: share * ratio(more, 1+more), Ceiling: share * more}
	if more == 0 {
		f.Gain.Latency = share * 0.3 // the same CPU time without pauses
	}
	f.Evidence = []string{fmt.Sprintf("The group was throttled in %s of the periods. The quota is %.3g CPUs, the server may run on %d.", percent(share), quota, max(v.Server.CPUs, 1))}
	if t := v.rate("cgroup_throttled"); t > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("It stood still %.3g seconds each second, summed over CPUs.", t))
	}
	f.Advice = []string{
		"Raise or remove the quota (cpu.max, limits.cpu of Kubernetes); requests alone still divide the CPUs fairly.",
		"Reduce the CPU time of an answer: see the other causes.",
	}
	return f
}

func procsQuota(v *view) *finding {
	share, quota := v.throttled()
	if share < leastThrottled || quota <= 0 || !v.excessive(quota) {
		return nil
	}
	f := &finding{blames: map[string]float64{"cpu-quota": 0.5, "gc-pressure": 2 * crowdedGC}}
	f.Title = fmt.Sprintf("GOMAXPROCS is %d with a CPU quota of %.3g", v.Server.Procs, quota)
	f.Gain, f.Confidence = join(latency(0.8*share), v.saving(crowdedGC*v.gc)), 0.95
	f.Evidence = []string{
		fmt.Sprintf("%d threads may run at once and use the quota of %.3g CPUs up early in each period; then all of them stand still.", v.Server.Procs, quota),
		fmt.Sprintf("The group was throttled in %s of the periods.", percent(share)),
	}
	if set := v.Server.Settings["GOMAXPROCS"]; set != "" {
		f.Evidence = append(f.Evidence, "GOMAXPROCS is set to "+set+" in the environment.")
	}
	f.Advice = []string{
		fmt.Sprintf("Set GOMAXPROCS to %.0f, the quota rounded up: remove the variable, and GODEBUG=containermaxprocs=0, or use Go 1.25 or newer, which follows the quota.", max(math.Ceil(quota), 1)),
		"With older versions of Go, import go.uber.org/automaxprocs.",
	}
	return f
}

const (
	leastSpare   = 1.5  // ratio of the CPUs there are to those in use from which more would help
	leastLocked  = 0.05 // CPU share of goroutines that are locked to threads
	parallelPart = 0.9  // share of the additional CPUs that is of use, if the law says nothing
)

var lockedThreads = called("runtime.stoplockedm", "runtime.startlockedm")

func pinning(v *view) *finding {
	all := v.Server.Allowed()
	f := &finding{}
	switch swap := v.cpu(lockedThreads); {
	case v.busy >= saturated && all >= leastSpare*v.cores:
		more := (all/v.cores - 1) * parallelPart
		if v.Law != nil && known(v.Law.Sigma) > 0 {
			more *= bound(1-v.Law.Sigma, 0, 1)
		}
		f.Title = fmt.Sprintf("The server uses %.3g CPUs of %.3g", v.cores, all)
		f.Gain, f.Confidence = diagnose.Gain{Ceiling: more, Latency: more / (1 + more)}, 0.9
		f.Evidence = []string{fmt.Sprintf("It uses %.3g CPUs, cannot use more than %.3g, and there are %.3g.", v.load.Cores, v.cores, all)}
		f.Advice = []string{"Remove GOMAXPROCS, or set it to the number of CPUs; remove the affinity of the process (taskset, CPUAffinity)."}
		if v.Server.OneThread() {
			f.Advice = []string{"Start a process for each CPU (cluster or PM2 of Node.js, workers of gunicorn or uvicorn), on one port."}
		}
	case swap >= leastLocked:
		f.Title = fmt.Sprintf("Switching goroutines that are locked to threads takes %s of the CPU time", percent(swap))
		f.Gain, f.Confidence = v.saving(swap), v.sureOfCPU(0.7)
		f.Evidence = []string{fmt.Sprintf("runtime.stoplockedm and its counterparts take %s of the CPU time.", percent(swap))}
		f.Advice = []string{"Call runtime.LockOSThread only where C code or the kernel needs it, in a goroutine that serves the others in batches."}
	default:
		return nil
	}
	return f
}

const (
	busyGenerator = 0.9 // share of its CPUs from which it is full
	idleServer    = 0.7 // share of the server's CPUs below which the generator is suspected
	outside       = 0.5 // share of the requests in flight that are in a handler
)

func generatorLimit(v *view) *finding {
	g := v.load.Generator
	if known(g.CPU) < busyGenerator || v.busy >= idleServer || v.load.Rate <= 0 {
		return nil
	}
	if inside := ratio(v.requests.Total, v.load.InFlight); inside > outside {
		return nil // the requests are in the server, and wait there
	}
	f := &finding{}
	f.Title = "The generator is the limit, not the server"
	more := 1.0
	if v.busy > 0 {
		more = min(usable/v.busy-1, more)
	}
	f.Gain, f.Confidence = diagnose.Gain{Ceiling: more}, 0.9
	if v.busy == 0 {
		f.Confidence = 0.6
	}
	f.Evidence = []string{fmt.Sprintf("The generator uses %s of its CPUs, the server %s.", percent(g.CPU), percent(v.busy))}
	if g.Why != "" {
		f.Evidence = append(f.Evidence, "Its gates failed: "+g.Why+".")
	}
	f.Advice = []string{"Give the generator more CPUs, or use several machines; ask for smaller answers, or keep connections open.", "Do not conclude anything about the server's ceiling from this run."}
	return f
}
