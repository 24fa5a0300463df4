package rules

import "github.com/redline-go/redline/lab/diagnose"

var sickMemory = []sick{
	{
		id: "gc-pressure", name: "many small objects", low: 0.25, high: 0.45,
		make: func(p patient) patient {
			return p.busy().cpu(0.25, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).
				cpu(0.25, under("runtime.mallocgc", "main.(*shop).find", "main.(*shop).show")...).count("allocated", 800e6).count("gc_cycles", 120)
		},
	},
	{
		id: "gc-pressure", name: "figures only", low: 0.2, high: 0.3,
		make: func(p patient) patient {
			p.knee().OnCPU = nil
			return p.busy().count("gc_cpu", 0.6).count("gc_cycles", 120)
		},
	},
	{
		id: "unpooled-buffers", name: "compressor for each answer", low: 0.25, high: 0.5, with: []string{"gc-pressure"},
		make: func(p patient) patient {
			return p.busy().cpu(0.25, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).
				cpu(0.15, under("runtime.memclrNoHeapPointersChunked", "runtime.mallocgcLarge", "runtime.mallocgc", "compress/flate.NewWriter", "compress/gzip.(*Writer).Write", "main.(*shop).show")...).
				allocs(0.9, under("compress/flate.NewWriter", "compress/gzip.(*Writer).Write", "main.(*shop).show")...).count("allocated", 8e9)
		},
	},
	{
		id: "unpooled-buffers", name: "own make", low: 0.3, high: 0.7, with: []string{"gc-pressure"},
		make: func(p patient) patient {
			return p.busy().cpu(0.2, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).
				cpu(0.2, under("runtime.memclrNoHeapPointersChunked", "runtime.mallocgcLarge", "runtime.mallocgc", "main.(*shop).show")...).
				allocs(0.9, under("main.(*shop).show")...).count("allocated", 700e6)
		},
	},
	{
		id: "body-copy", name: "large bodies", low: 0.2, high: 0.5, with: []string{"gc-pressure"},
		make: func(p patient) patient {
			p.knee().Request, p.knee().Rate = 200<<10, 1000
			return p.busy().call("write", diagnose.Syscall{Rate: 1000, Bytes: 900}).cpu(0.2, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).
				cpu(0.25, under("runtime.memmove", "runtime.growslice", "io.ReadAll", "main.(*shop).put")...).cpu(0.1, under("runtime.memmove", "runtime.slicebytetostring", "main.(*shop).put")...).
				allocs(0.7, under("io.ReadAll", "main.(*shop).put")...).allocs(0.2, under("runtime.slicebytetostring", "main.(*shop).put")...).count("allocated", 1.2e9)
		},
	},
	{
		id: "gogc-thrash", name: "limit near the live heap", low: 0.2, high: 0.6, with: []string{"gc-pressure"},
		make: func(p patient) patient {
			p.Server.GoMemoryLimit = 110 << 20
			return p.busy().gauge("heap_live_bytes", 100<<20).cpu(0.5, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).count("gc_cycles", 40)
		},
	},
	{
		id: "gogc-thrash", name: "small GOGC", low: 0.2, high: 0.5, with: []string{"gc-pressure"},
		make: func(p patient) patient {
			p.Server.GOGC = 10
			return p.busy().gauge("heap_live_bytes", 50<<20).cpu(0.35, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).count("gc_cycles", 90)
		},
	},
	{
		id: "memory-limit", name: "reclaims", low: 0.3, high: 0.5, with: []string{"swap"},
		make: func(p patient) patient {
			return p.gauge("cgroup_memory_limit_bytes", 100<<20).gauge("cgroup_memory_bytes", 99<<20).count("cgroup_memory_max", 300).count("cgroup_pressure_memory_some", 0.4)
		},
	},
	{
		id: "memory-limit", name: "kills",
		make: func(p patient) patient {
			return p.gauge("cgroup_memory_limit_bytes", 100<<20).gauge("cgroup_memory_bytes", 80<<20).count("cgroup_memory_max", 30).count("cgroup_memory_oom_kill", 0.1)
		},
	},
	{
		id: "swap", name: "faults", low: 0.3, high: 0.4,
		make: func(p patient) patient { return p.count("faults_major", 900).count("pressure_memory_some", 0.35) },
	},
}

var sickCode = []sick{
	{
		id: "json-reflection", name: "maps", low: 0.2, high: 0.5,
		make: func(p patient) patient {
			return p.busy().cpu(0.5, under("encoding/json.mapEncoder.encode", "encoding/json.Marshal", "main.(*shop).show")...)
		},
	},
	{
		id: "json-reflection", name: "decodes a constant", low: 0.2, high: 0.5,
		make: func(p patient) patient {
			p.knee().Request = 120
			return p.busy().cpu(0.5, under("encoding/json.(*decodeState).object", "encoding/json.Unmarshal", "main.(*shop).show")...)
		},
	},
	{
		id: "regexp-compile", name: "in the handler", low: 0.4, high: 0.7,
		make: func(p patient) patient {
			return p.busy().cpu(0.4, under("regexp/syntax.(*parser).repeat", "regexp/syntax.Parse", "regexp.compile", "regexp.Compile", "main.(*shop).find", "main.(*shop).show")...).
				cpu(0.2, under("runtime.mallocgc", "regexp/syntax.Parse", "regexp.compile", "regexp.Compile", "main.(*shop).find", "main.(*shop).show")...).
				cpu(0.15, frames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")...).
				allocs(0.9, under("regexp/syntax.Parse", "regexp.Compile", "main.(*shop).find")...)
		},
	},
	{
		id: "template-parse", name: "in the handler", low: 0.4, high: 0.7,
		make: func(p patient) patient {
			return p.busy().cpu(0.5, under("text/template/parse.(*Tree).Parse", "html/template.(*Template).Parse", "main.(*shop).show")...)
		},
	},
	{
		id: "compression-level", name: "gzip 9", low: 0.3, high: 0.6,
		make: func(p patient) patient {
			return p.busy().cpu(0.2, under("compress/flate.(*compressor).deflate", "main.(*shop).show")...).cpu(0.6, under("compress/flate.(*compressor).findMatch", "compress/flate.(*compressor).deflate", "main.(*shop).show")...)
		},
	},
	{
		id: "compression-level", name: "zlib of another server", low: 0.3, high: 0.7,
		make: func(p patient) patient {
			p.Server = diagnose.Server{PIDs: []int{1}, Language: "nginx", CPUs: 2}
			p.knee().Wall, p.knee().Allocs, p.Rest = nil, nil, nil
			return p.busy().cpu(0.1, frames("deflate_slow", "deflate")...).cpu(0.7, frames("longest_match", "deflate_slow", "deflate")...)
		},
	},
	{
		id: "compression-level", name: "zlib without symbols", low: 0.3, high: 0.7,
		make: func(p patient) patient {
			p.Server = diagnose.Server{PIDs: []int{1}, Language: "nginx", CPUs: 2}
			p.knee().Wall, p.knee().Allocs, p.Rest = nil, nil, nil
			return p.busy().cpu(0.8, frames("deflate", "ngx_http_gzip_body_filter")...)
		},
	},
	{
		id: "large-headers", name: "cookies", low: 0.1, high: 0.4,
		make: func(p patient) patient {
			p.knee().Request = 12 << 10
			return p.busy().cpu(0.3, frames("net/textproto.(*Reader).ReadMIMEHeader", "net/http.readRequest", "net/http.(*conn).serve")...)
		},
	},
	{
		id: "panics-recovered", name: "with stacks", low: 0.3, high: 0.6,
		make: func(p patient) patient {
			return p.busy().cpu(0.4, under("runtime.tracebackPCs", "runtime.Stack", "runtime/debug.Stack", "main.recovered.func1", "runtime.gopanic", "main.(*shop).show")...)
		},
	},
	{
		id: "context-timers", name: "many deadlines", low: 0.2, high: 0.5,
		make: func(p patient) patient {
			return p.busy().cpu(0.15, under("runtime.(*timers).siftUp", "runtime.(*timer).maybeAdd", "time.newTimer", "time.AfterFunc", "context.WithDeadlineCause", "context.WithTimeout", "main.(*shop).show")...).
				cpu(0.2, frames("runtime.(*timers).siftDown", "runtime.(*timers).run", "runtime.findRunnable", "runtime.schedule")...)
		},
	},
	{
		id: "goroutine-per-message", name: "fan-out of nothing", low: 0.2, high: 0.6,
		make: func(p patient) patient {
			return p.busy().cpu(0.12, frames("runtime.newproc1", "runtime.newproc.func1", "runtime.systemstack")...).cpu(0.08, under("runtime.newproc", "main.(*shop).show")...).
				cpu(0.10, frames("runtime.copystack", "runtime.newstack", "runtime.morestack", "main.(*shop).show.func1")...).cpu(0.2, frames("runtime.findRunnable", "runtime.schedule", "runtime.goexit0")...)
		},
	},
	{
		id: "cpu-bound", name: "one function", low: 0.05, high: 0.2,
		make: func(p patient) patient {
			return p.busy().cpu(0.7, under("main.distance", "main.(*shop).nearest", "main.(*shop).show")...).cpu(0.5, under("runtime.memmove", "main.distance", "main.(*shop).show")...)
		},
	},
	{
		id: "false-sharing", name: "counters side by side", low: 0.2, high: 0.4,
		make: func(p patient) patient {
			p.Server.Neighbours = []diagnose.Neighbours{{Type: "main.tallies", What: "2 atomic values, 8 bytes apart"}}
			return p.busy().cpu(0.5, under("main.(*shop).tally", "main.(*shop).show")...).cpu(0.1, under("sync/atomic.(*Uint64).Add", "main.(*shop).tally", "main.(*shop).show")...)
		},
	},
	{
		id: "cpu-bound", name: "regular expressions of node", low: 0.05, high: 0.3,
		make: func(p patient) patient {
			p.foreign("node").knee().OnCPU = &stacks{Total: 4, List: []stack{
				{Weight: 3.8, Frames: []diagnose.Frame{{Kind: diagnose.User}, {Func: "Builtins_RegExpPrototypeTest", Kind: diagnose.Runtime}}},
				{Weight: 0.2, Frames: frames("v8::internal::Heap::Scavenge")},
			}}
			p.knee().Cores = 0.98
			return p.call("epoll_pwait", diagnose.Syscall{Rate: 2})
		},
	},
	{
		id: "cpu-bound", name: "sorting", low: 0.02, high: 0.2,
		make: func(p patient) patient {
			return p.busy().cpu(0.3, under("main.(*shop).less.func1", "sort.insertionSort", "sort.Slice", "main.(*shop).show")...).cpu(0.6, under("sort.insertionSort", "sort.Slice", "main.(*shop).show")...)
		},
	},
}

var sickLeaks = []sick{
	{
		id: "goroutine-leak", name: "blocked senders",
		make: func(p patient) patient {
			p.Rest.Wall = &stacks{Total: 30_000, List: []stack{{Weight: 30_000, State: "waiting", Wait: "chan send", Frames: frames("main.(*shop).price.func1")}}}
			return p.rest("goroutines", 5, 30_000).rest("heap_live_bytes", 4<<20, 90<<20)
		},
	},
	{
		id: "descriptor-leak", name: "bodies that are not closed", with: []string{"goroutine-leak"},
		make: func(p patient) patient {
			p.Rest.Wall = &stacks{Total: 6000, List: []stack{
				{Weight: 3000, State: "waiting", Wait: "IO wait", Frames: frames("net.(*conn).Read", "net/http.(*persistConn).readLoop")},
				{Weight: 3000, State: "waiting", Wait: "select", Frames: frames("net/http.(*persistConn).writeLoop")},
			}}
			return p.rest("descriptors", 8, 3000).rest("goroutines", 5, 6000).rest("descriptors_socket", 3, 2990)
		},
	},
	{
		id: "descriptor-leak", name: "other language",
		make: func(p patient) patient {
			p.Server.Language = ""
			delete(p.Rest.Before, "goroutines")
			return p.rest("descriptors", 8, 3000)
		},
	},
	{
		id: "timer-leak", name: "tickers that go off",
		make: func(p patient) patient {
			return p.rest("cpu_total", 0.001, 0.2).rest("heap_live_bytes", 4<<20, 120<<20).cpu(0.08, frames("runtime.(*timers).siftDown", "runtime.(*timers).run", "runtime.findRunnable")...).
				allocs(0.4, under("time.NewTicker", "main.(*shop).show")...)
		},
	},
	{
		id: "timer-leak", name: "counted",
		make: func(p patient) patient {
			return p.rest("go_timers", 3, 300_000).rest("heap_live_bytes", 4<<20, 120<<20)
		},
	},
	{
		id: "memory-leak", name: "a map that grows",
		make: func(p patient) patient {
			return p.rest("heap_live_bytes", 4<<20, 200<<20).rest("rss_bytes", 20<<20, 400<<20).again(2, 100_000, "heap_live_bytes", 60<<20)
		},
	},
	{
		id: "memory-leak", name: "without collections",
		make: func(p patient) patient {
			return p.rest("heap_live_bytes", 4<<20, 200<<20).rest("rss_bytes", 20<<20, 400<<20).again(1, 300_000, "rss_bytes", 300<<20)
		},
	},
	{
		id: "memory-leak", name: "another language", with: []string{"pinning"},
		make: func(p patient) patient {
			p.Server.Language = "python"
			delete(p.Rest.Before, "heap_live_bytes")
			return p.rest("rss_bytes", 20<<20, 400<<20).again(0, 300_000, "rss_bytes", 300<<20)
		},
	},
}
