package watch

// Unit is the unit of a figure's value.
type Unit string

// The units of figures. A counter's value is a rate: its unit is that of the rate.
const (
	Cores     Unit = "cores" // seconds of CPU each second
	Bytes     Unit = "bytes"
	ByteRate  Unit = "bytes/s"
	Count     Unit = "count"
	PerSecond Unit = "1/s"
	Share     Unit = "share" // 0 to 1
	Seconds   Unit = "s"
	Score     Unit = "score"
)

// A Figure describes what a value means and where it is from.
type Figure struct {
	Name    string `json:"name"` // in samples, such as rss_bytes
	Unit    Unit   `json:"unit"`
	Counter bool   `json:"counter,omitempty"` // its source only counts up, and the value is the rate since the reading before
	Source  string `json:"source"`
	Meaning string `json:"meaning"`
}

// Figures returns all figures in the order of the tables. The caller owns the list.
func Figures() []Figure {
	var all []Figure
	for _, list := range [][]Figure{processFigures, descriptorFigures, tcpFigures, networkFigures, groupFigures, pressureFigures, eventFigures, runtimeFigures} {
		all = append(all, list...)
	}
	return all
}

var processFigures = []Figure{
	{"cpu_total", Cores, true, "CPU clock of the process (clock_gettime)", "CPU time, user and system"},
	{"cpu_user", Cores, true, "CPU clock, divided as fields 14 and 15 of /proc/PID/stat", "CPU time in user mode"},
	{"cpu_sys", Cores, true, "CPU clock, divided as fields 14 and 15 of /proc/PID/stat", "CPU time in the kernel"},
	{"rss_bytes", Bytes, false, "/proc/PID/statm", "resident memory; pages that processes share count once for each"},
	{"vss_bytes", Bytes, false, "/proc/PID/statm", "address space"},
	{"pss_bytes", Bytes, false, "/proc/PID/smaps_rollup, once a second", "resident memory, with shared pages divided among those who share them"},
	{"processes", Count, false, "/proc/PID/stat", "processes that are watched"},
	{"threads", Count, false, "/proc/PID/status", "threads"},
	{"switches_voluntary", PerSecond, true, "/proc/PID/task/TID/status, once a second", "context switches because a thread waited"},
	{"switches_involuntary", PerSecond, true, "/proc/PID/task/TID/status, once a second", "context switches because a thread was preempted"},
	{"faults_minor", PerSecond, true, "field 10 of /proc/PID/stat", "page faults without disk access"},
	{"faults_major", PerSecond, true, "field 12 of /proc/PID/stat", "page faults that read a disk"},
	{"oom_score", Score, false, "/proc/PID/oom_score", "how soon the kernel kills the process when memory is short, 0 to 1000; the highest of several"},
	{"syscalls_read", PerSecond, true, "syscr of /proc/PID/io", "read system calls; socket calls such as recv are not among them"},
	{"syscalls_write", PerSecond, true, "syscw of /proc/PID/io", "write system calls; socket calls such as send are not among them"},
	{"io_read", ByteRate, true, "rchar of /proc/PID/io", "bytes that read system calls returned"},
	{"io_written", ByteRate, true, "wchar of /proc/PID/io", "bytes that write system calls accepted"},
	{"disk_read", ByteRate, true, "read_bytes of /proc/PID/io", "bytes read from storage"},
	{"disk_written", ByteRate, true, "write_bytes of /proc/PID/io", "bytes sent to storage"},
}

var descriptorFigures = []Figure{
	{"descriptors", Count, false, "size of /proc/PID/fd", "open descriptors"},
	{"descriptors_socket", Count, false, "links in /proc/PID/fd", "descriptors of sockets"},
	{"descriptors_file", Count, false, "links in /proc/PID/fd", "descriptors of files and devices"},
	{"descriptors_pipe", Count, false, "links in /proc/PID/fd", "descriptors of pipes"},
	{"descriptors_eventfd", Count, false, "links in /proc/PID/fd", "descriptors of eventfd(2)"},
	{"descriptors_epoll", Count, false, "links in /proc/PID/fd", "descriptors of epoll(7)"},
	{"descriptors_io_uring", Count, false, "links in /proc/PID/fd", "descriptors of io_uring(7)"},
	{"descriptors_other", Count, false, "links in /proc/PID/fd", "all other descriptors, such as timerfd and pidfd"},
}

const (
	diag     = "netlink sock_diag(7)"
	diagEach = diag + ", once a second"
)

var tcpFigures = []Figure{
	{"tcp_established", Count, false, diagEach, "connections in ESTABLISHED"},
	{"tcp_syn_sent", Count, false, diagEach, "connections in SYN_SENT"},
	{"tcp_syn_recv", Count, false, diagEach, "connections in SYN_RECV on the addresses that the process listens on"},
	{"tcp_fin_wait1", Count, false, diagEach, "connections in FIN_WAIT1"},
	{"tcp_fin_wait2", Count, false, diagEach, "connections in FIN_WAIT2"},
	{"tcp_close_wait", Count, false, diagEach, "connections in CLOSE_WAIT: the peer has closed, the process has not"},
	{"tcp_last_ack", Count, false, diagEach, "connections in LAST_ACK"},
	{"tcp_closing", Count, false, diagEach, "connections in CLOSING"},
	{"tcp_listen", Count, false, diag, "listening sockets"},
	{"tcp_time_wait", Count, false, diagEach, "connections in TIME_WAIT on the addresses that the process listens on; they belong to no process"},
	{"tcp_retransmits", PerSecond, true, diagEach + ": tcpi_total_retrans", "segments sent again by the sockets of the process"},
	{"tcp_segments_sent", PerSecond, true, diagEach + ": tcpi_segs_out", "segments sent by the sockets of the process"},
	{"tcp_rtt", Seconds, false, diagEach + ": tcpi_rtt", "median of the connections' smoothed round-trip times"},
	{"accept_queue", Count, false, diag + ": idiag_rqueue", "connections that wait for accept, of the fullest listener"},
	{"accept_queue_limit", Count, false, diag + ": idiag_wqueue", "backlog of that listener"},
	{"accept_drops", PerSecond, true, diag + ": INET_DIAG_SKMEMINFO", "connections that the listeners of the process dropped, mostly because the queue was full"},
}

var networkFigures = []Figure{
	{"net_listen_overflows", PerSecond, true, "ListenOverflows of /proc/PID/net/netstat", "accept queues that were full, in the whole network namespace"},
	{"net_listen_drops", PerSecond, true, "ListenDrops of /proc/PID/net/netstat", "connections that listeners dropped, in the whole network namespace"},
	{"net_segments_sent", PerSecond, true, "OutSegs of /proc/PID/net/snmp", "TCP segments sent, in the whole network namespace, without those sent again"},
	{"net_retransmits", PerSecond, true, "RetransSegs of /proc/PID/net/snmp", "TCP segments sent again, in the whole network namespace"},
}

var groupFigures = []Figure{
	{"cgroup_cpu", Cores, true, "v2: cpu.stat; v1: cpuacct.usage", "CPU time of all processes of the control group"},
	{"cgroup_cpu_quota", Cores, false, "v2: cpu.max; v1: cpu.cfs_quota_us", "lowest quota of the control group and those above it; absent without a quota"},
	{"cgroup_periods", PerSecond, true, "nr_periods of cpu.stat", "enforcement periods in which the group ran"},
	{"cgroup_throttled_periods", PerSecond, true, "nr_throttled of cpu.stat", "periods in which the quota was used up"},
	{"cgroup_throttled", Share, true, "cpu.stat; v2: throttled_usec, v1: throttled_time", "seconds each second during which the group was throttled, summed over CPUs"},
	{"cgroup_memory_bytes", Bytes, false, "v2: memory.current; v1: memory.usage_in_bytes", "memory of the control group, with its page cache"},
	{"cgroup_memory_limit_bytes", Bytes, false, "v2: memory.max; v1: memory.limit_in_bytes", "lowest limit of the control group and those above it; absent without a limit"},
	{"cgroup_memory_high", PerSecond, true, "v2: high of memory.events", "processes throttled because memory.high was exceeded"},
	{"cgroup_memory_max", PerSecond, true, "v2: max of memory.events; v1: memory.failcnt", "times that usage reached the limit"},
	{"cgroup_memory_oom", PerSecond, true, "v2: oom of memory.events", "allocations that were about to fail"},
	{"cgroup_memory_oom_kill", PerSecond, true, "v2: oom_kill of memory.events; v1: memory.oom_control", "processes killed by the kernel because memory was short"},
}

const stalled = "share of the time in which "

var pressureFigures = []Figure{
	{"pressure_cpu_some", Share, true, "/proc/pressure/cpu", stalled + "a task of the machine waited for a CPU; waking an idle virtual CPU counts too"},
	{"pressure_memory_some", Share, true, "/proc/pressure/memory", stalled + "a task of the machine waited for memory"},
	{"pressure_memory_full", Share, true, "/proc/pressure/memory", stalled + "all tasks of the machine waited for memory"},
	{"pressure_io_some", Share, true, "/proc/pressure/io", stalled + "a task of the machine waited for storage"},
	{"pressure_io_full", Share, true, "/proc/pressure/io", stalled + "all tasks of the machine waited for storage"},
	{"cgroup_pressure_cpu_some", Share, true, "cpu.pressure of the control group, v2", stalled + "a task of the group waited for a CPU"},
	{"cgroup_pressure_memory_some", Share, true, "memory.pressure of the control group, v2", stalled + "a task of the group waited for memory"},
	{"cgroup_pressure_io_some", Share, true, "io.pressure of the control group, v2", stalled + "a task of the group waited for storage"},
}

const (
	runtimeOnly = "control socket, pprof or memory of the process"
	inMemory    = "memory of the process"
)

var runtimeFigures = []Figure{
	{"goroutines", Count, false, runtimeOnly, "goroutines"},
	{"goroutines_runnable", Count, false, inMemory + ", once a second", "goroutines that wait for a P"},
	{"goroutines_running", Count, false, inMemory + ", once a second", "goroutines that run"},
	{"goroutines_syscall", Count, false, inMemory + ", once a second", "goroutines in a system call"},
	{"goroutines_waiting", Count, false, inMemory + ", once a second", "goroutines that wait for something else"},
	{"run_queue_global", Count, false, inMemory, "runnable goroutines that no P has"},
	{"run_queue_local", Count, false, inMemory, "runnable goroutines in the queues of the Ps"},
	{"go_procs", Count, false, inMemory, "GOMAXPROCS in force"},
	{"go_procs_idle", Count, false, inMemory, "Ps that have nothing to do"},
	{"go_threads", Count, false, inMemory, "threads that the runtime has created"},
	{"go_timers", Count, false, inMemory, "timers in the heaps of all Ps; stopped ones until they are removed"},
	{"heap_bytes", Bytes, false, "control socket or pprof", "memory in objects, including dead ones that are not swept yet"},
	{"heap_live_bytes", Bytes, false, "control socket or " + inMemory, "memory in objects that the last collection found alive"},
	{"heap_goal_bytes", Bytes, false, inMemory, "size of the heap before which the next collection should end"},
	{"allocated", ByteRate, true, runtimeOnly, "bytes allocated on the heap"},
	{"allocations", PerSecond, true, "control socket or pprof", "objects allocated on the heap"},
	{"gc_cycles", PerSecond, true, runtimeOnly, "garbage collections completed"},
	{"gc_pauses", Share, true, inMemory, "time in which collections stopped all goroutines"},
	{"gc_cpu", Cores, true, "control socket or " + inMemory, "CPU time of garbage collection, as of the last collection"},
	{"go_cpu", Cores, true, "control socket or " + inMemory, "CPU time of the whole runtime, as of the last collection; the base of gc_cpu"},
}
