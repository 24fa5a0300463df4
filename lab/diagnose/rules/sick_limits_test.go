package rules

import "github.com/redline-go/redline/lab/diagnose"

var sickLimits = []sick{
	{
		id: "descriptor-limit", name: "full", low: 0.3, high: 0.9,
		make: func(p patient) patient {
			p.Server.FileLimit = 64
			return p.gauge("descriptors", 64).wall(1, "waiting", "sleep", frames("time.Sleep", "net/http.(*Server).Serve", "main.main")...).count("accept_drops", 1)
		},
	},
	{
		id: "descriptor-limit", name: "of connections", low: 0.3, high: 0.9,
		make: func(p patient) patient {
			return p.below(diagnose.Load{Connections: 128, Rate: 900, Errors: 0.6, Kinds: diagnose.Counts{"closed": 900, "reset": 50}})
		},
	},
	{
		id: "ephemeral-ports", name: "addresses are in use", low: 0.1, high: 0.9, with: []string{"http-no-reuse"},
		make: func(p patient) patient {
			p.knee().Errors = 0.4
			return p.call("connect", diagnose.Syscall{Rate: 6000, Errors: 4000, Codes: map[string]float64{"EADDRNOTAVAIL": 4000}}).
				peer(diagnose.Peer{Addr: "10.0.0.9:80", Connects: 6000, Sends: 6000, Bytes: 100, Waits: 6000, Wait: diagnose.Delay{Mean: 0.0005}})
		},
	},
	{
		id: "cpu-quota", name: "throttled", low: 0.3, high: 0.8,
		make: func(p patient) patient {
			p.Server.Quota, p.Server.Procs = 0.5, 2
			p.knee().Cores = 0.5
			return p.count("cgroup_periods", 10).count("cgroup_throttled_periods", 9).gauge("cgroup_cpu_quota", 0.5)
		},
	},
	{
		id: "gomaxprocs-quota", name: "eight threads", low: 0.5, high: 0.9, with: []string{"cpu-quota"},
		make: func(p patient) patient {
			p.Server.Quota, p.Server.Procs = 0.5, 8
			p.knee().Cores = 0.5
			return p.count("cgroup_periods", 10).count("cgroup_throttled_periods", 9)
		},
	},
	{
		id: "pinning", name: "GOMAXPROCS=1", low: 0.5, high: 0.8,
		make: func(p patient) patient {
			p.Server.CPUs, p.Server.Procs = 4, 1
			p.knee().Cores = 0.98
			return p
		},
	},
	{
		id: "pinning", name: "one thread of node", low: 0.5, high: 0.8,
		make: func(p patient) patient {
			p.Server = diagnose.Server{PIDs: []int{1}, Language: "node", CPUs: 4}
			p.knee().Cores, p.knee().Wall, p.knee().OnCPU = 1, nil, nil
			return p
		},
	},
	{
		id: "sleeping", name: "in the handler", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "sleep", under("time.Sleep", "main.(*shop).pause", "main.(*shop).show")...)
		},
	},
	{
		id: "sleeping", name: "polls", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "timer", under("runtime.chanrecv", "runtime.chanrecv2", "main.(*shop).poll", "main.(*shop).show")...).
				wall(3, "waiting", "timer", frames("runtime.selectgo", "main.(*store).refresh", "main.(*store).run")...)
		},
	},
	{
		id: "lock-contention", name: "held while it sleeps", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			p.Sweep = flatSweep()
			return p.waits(14, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).settle", "main.(*shop).show")...).
				wall(1, "waiting", "sleep", under("time.Sleep", "main.(*shop).settle", "main.(*shop).show")...)
		},
	},
	{
		id: "sleeping", name: "of python", low: 0.6, high: 0.95,
		make: func(p patient) patient {
			p.foreign("python").call("clock_nanosleep", diagnose.Syscall{Rate: 700, Seconds: 14})
			return p.below(diagnose.Load{Rate: 70, Kernel: &diagnose.Kernel{Calls: map[string]diagnose.Syscall{"clock_nanosleep": {Seconds: 2.3}}}})
		},
	},
	{
		id: "sleeping", name: "of node", low: 0.6, high: 0.95,
		make: func(p patient) patient { return p.foreign("node") },
	},
	{
		id: "rate-limited", name: "by a library", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			return p.waits(14, "waiting", "timer", under("runtime.selectgo", "golang.org/x/time/rate.(*Limiter).wait", "golang.org/x/time/rate.(*Limiter).Wait", "main.(*shop).show")...)
		},
	},
	{
		id: "rate-limited", name: "by its own code", low: 0.7, high: 0.95,
		make: func(p patient) patient {
			p.Sweep = flatSweep()
			return p.waits(14, "waiting", "sleep", under("time.Sleep", "main.(*bucket).take", "main.(*shop).show")...)
		},
	},
	{
		id: "disk-sync", name: "commits of python", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			return p.foreign("python").call("fdatasync", diagnose.Syscall{Rate: 300, Seconds: 0.8}).call("futex", diagnose.Syscall{Rate: 3000, Seconds: 4})
		},
	},
	{
		id: "disk-sync", name: "of a database in the process", low: 0.5, high: 0.95,
		make: func(p patient) patient {
			return p.call("fdatasync", diagnose.Syscall{Rate: 300, Seconds: 0.8}).
				waits(13, "waiting", "sync.Mutex.Lock", under("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "go.etcd.io/bbolt.(*DB).beginRWTx", "go.etcd.io/bbolt.(*DB).Update", "main.(*shop).put")...).
				wall(1, "syscall", "", under("syscall.Fdatasync", "go.etcd.io/bbolt.fdatasync", "go.etcd.io/bbolt.(*Tx).Commit", "go.etcd.io/bbolt.(*DB).Update", "main.(*shop).put")...)
		},
	},
	{
		id: "cpu-shared", name: "others compute", low: 0.4, high: 0.7,
		make: func(p patient) patient {
			p.knee().Generator.Foreign, p.knee().Cores = 0.62, 0.5
			p.knee().Shared = &diagnose.Shared{CPUs: 2, Delay: 1.8, Names: []string{"render 1.20"}}
			return p
		},
	},
	{
		id: "cpu-shared", name: "the hypervisor", low: 0.2, high: 0.4,
		make: func(p patient) patient {
			p.knee().Generator.Stolen, p.knee().Shared = 0.3, &diagnose.Shared{CPUs: 2, Delay: 0.01}
			return p.busy()
		},
	},
	{
		id: "generator-limit", name: "its CPU", low: 0.3, high: 0.6,
		make: func(p patient) patient {
			p.knee().Generator = diagnose.Generator{CPU: 0.99, Why: "generator CPU"}
			return p
		},
	},
}
