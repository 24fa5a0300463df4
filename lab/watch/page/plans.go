package page

// plans are the charts of all groups of figures, in the order of the page.
var plans = []struct {
	title, text string
	charts      []plan
}{
	{"Process", "CPU, memory, threads and descriptors.", []plan{
		{title: "CPU", text: "Cores in use.", figures: [][2]string{{"cpu_total", "all"}, {"cpu_user", "user"}, {"cpu_sys", "kernel"}}},
		{title: "Memory", text: "Resident, and with shared pages divided among those who share them.", figures: [][2]string{{"rss_bytes", "resident"}, {"pss_bytes", "divided"}}},
		{title: "Page faults", text: "Without and with reading from a disk.", figures: [][2]string{{"faults_minor", "minor"}, {"faults_major", "major"}}},
		{title: "Threads", figures: [][2]string{{"threads", "threads"}}},
		{title: "Context switches", text: "Because a thread waited, and because it was preempted.", figures: [][2]string{{"switches_voluntary", "waited"}, {"switches_involuntary", "preempted"}}},
		{title: "Descriptors", figures: [][2]string{{"descriptors", "all"}, {"descriptors_socket", "sockets"}, {"descriptors_file", "files"}, {"descriptors_pipe", "pipes"}}},
		{title: "Input and output", text: "Bytes of read and write calls, and of storage.", figures: [][2]string{{"io_read", "read"}, {"io_written", "written"}, {"disk_read", "from storage"}, {"disk_written", "to storage"}}},
	}},
	{"Go runtime", "As the runtime itself counts.", []plan{
		{title: "Goroutines", figures: [][2]string{{"goroutines", "all"}, {"goroutines_runnable", "runnable"}, {"goroutines_running", "running"}, {"goroutines_syscall", "in system calls"}}},
		{title: "Run queues", text: "Runnable goroutines that wait for a P.", figures: [][2]string{{"run_queue_global", "global"}, {"run_queue_local", "of the Ps"}}},
		{title: "Ps and threads", figures: [][2]string{{"go_procs", "Ps"}, {"go_procs_idle", "idle Ps"}, {"go_threads", "threads"}}},
		{title: "Heap", figures: [][2]string{{"heap_bytes", "in objects"}, {"heap_live_bytes", "live"}, {"heap_goal_bytes", "goal"}}},
		{title: "Allocation", text: "Bytes a second.", figures: [][2]string{{"allocated", "allocated"}}},
		{title: "Collections", text: "Completed a second.", figures: [][2]string{{"gc_cycles", "collections"}}},
		{title: "CPU of collection", text: "Cores, as of the last collection, beside the whole runtime.", figures: [][2]string{{"gc_cpu", "collection"}, {"go_cpu", "runtime"}}},
		{title: "Pauses", text: "Share of the time in which all goroutines were stopped.", figures: [][2]string{{"gc_pauses", "stopped"}}},
		{title: "Timers", figures: [][2]string{{"go_timers", "timers"}}},
	}},
	{"Requests and connections", "Sockets of the process.", []plan{
		{title: "Requests", text: "Answers to accepted connections a second; several at once, as in HTTP/2, count as one.", figures: [][2]string{{"requests", "requests"}}},
		{title: "Connections", text: "By state of TCP.", figures: [][2]string{{"tcp_established", "established"}, {"tcp_close_wait", "close-wait"}, {"tcp_time_wait", "time-wait"}, {"tcp_syn_recv", "syn-recv"}}},
		{title: "New connections", text: "Accepted, opened, and not established, a second.", figures: [][2]string{{"accepts", "accepted"}, {"connects", "opened"}, {"connects_failed", "failed"}, {"dns_queries", "DNS queries"}}},
		{title: "Accept queue", text: "Of the fullest listener.", figures: [][2]string{{"accept_queue", "waiting"}, {"accept_queue_limit", "limit"}}},
		{title: "Dropped connections", text: "By the listeners of the process, and in its network namespace.", figures: [][2]string{{"accept_drops", "process"}, {"net_listen_drops", "namespace"}, {"net_listen_overflows", "queue full"}}},
		{title: "Segments", figures: [][2]string{{"tcp_segments_sent", "sent"}, {"net_segments_sent", "namespace"}}},
		{title: "Sent again", text: "Segments, of the process and in its network namespace.", figures: [][2]string{{"tcp_resends", "process"}, {"tcp_retransmits", "open sockets"}, {"net_retransmits", "namespace"}}},
		{title: "Resets", text: "And sends that the peer's window refused.", figures: [][2]string{{"tcp_resets_sent", "sent"}, {"tcp_resets_received", "received"}, {"tcp_windows_closed", "window closed"}}},
		{title: "Round-trip time", log: true, text: "Median of the connections.", figures: [][2]string{{"tcp_rtt", "RTT"}}},
		{title: "Time to connect", log: true, figures: [][2]string{{"connect_p50", "p50"}, {"connect_p99", "p99"}}},
		{title: "Sends and receives", text: "Calls a second, by whatever interface.", figures: [][2]string{{"tcp_sends", "sends"}, {"tcp_receives", "receives"}}},
		{title: "Bytes a call", figures: [][2]string{{"tcp_send_bytes", "a send"}, {"tcp_receive_bytes", "a receive"}}},
		{title: "Data unread", log: true, text: "From its arrival until the process read it.", figures: [][2]string{{"tcp_unread_p50", "p50"}, {"tcp_unread_p99", "p99"}}},
		{title: "Requests to peers", text: "Sends that were answered, by remote address.", figures: [][2]string{{"peer_requests{peer}", ""}}},
		{title: "Waits for peers", log: true, text: "From the last byte sent to the first byte that arrived; mean, by remote address.", figures: [][2]string{{"peer_wait{peer}", ""}}},
	}},
	{"Kernel", "What threads do and wait for.", []plan{
		{title: "System calls", text: "A second, by name.", figures: [][2]string{{"syscalls{call}", ""}}},
		{title: "System calls that fail", figures: [][2]string{{"syscall_errors", "errors"}, {"syscall_again", "EAGAIN"}}},
		{title: "Threads in system calls", text: "On average, by call, with and without a CPU.", threads: true, figures: [][2]string{{"syscall_time{call}", ""}}},
		{title: "Threads blocked", text: "On average, by the call they are in.", threads: true, figures: [][2]string{{"blocked{call}", ""}}},
		{title: "Wait for a CPU", log: true, text: "From runnable to running.", figures: [][2]string{{"sched_wait_p50", "p50"}, {"sched_wait_p99", "p99"}}},
		{title: "CPU in the kernel", text: "Cores, by part; an estimate from stacks.", figures: [][2]string{{"kernel_cpu{part}", ""}}},
		{title: "epoll", text: "Waits and changes a second.", figures: [][2]string{{"epoll_waits", "waits"}, {"epoll_adds", "additions"}, {"epoll_mods", "changes"}, {"epoll_dels", "removals"}}},
		{title: "Events of a wait", text: "On epoll, on average.", figures: [][2]string{{"epoll_events", "events"}}},
		{title: "io_uring", text: "A second.", figures: [][2]string{{"uring_enters", "enters"}, {"uring_submissions", "submitted"}, {"uring_completions", "completed"}}},
		{title: "Observed by eBPF", text: "Share of the time in which the sampled figures were counted.", figures: [][2]string{{"bpf_observed", "observed"}}},
	}},
	{"Control group and machine", "These figures include other processes.", []plan{
		{title: "CPU of the control group", text: "Cores.", figures: [][2]string{{"cgroup_cpu", "used"}, {"cgroup_cpu_quota", "quota"}}},
		{title: "Throttled", text: "Seconds each second, summed over CPUs.", figures: [][2]string{{"cgroup_throttled", "throttled"}}},
		{title: "Memory of the control group", figures: [][2]string{{"cgroup_memory_bytes", "used"}, {"cgroup_memory_limit_bytes", "limit"}}},
		{title: "Out of memory", text: "Events a second.", figures: [][2]string{{"cgroup_memory_high", "high"}, {"cgroup_memory_max", "at the limit"}, {"cgroup_memory_oom_kill", "killed"}}},
		{title: "Pressure", text: "Share of the time in which a task of the machine waited.", figures: [][2]string{{"pressure_cpu_some", "CPU"}, {"pressure_memory_some", "memory"}, {"pressure_io_some", "storage"}}},
		{title: "Pressure in the control group", text: "Share of the time in which a task of the group waited.", figures: [][2]string{{"cgroup_pressure_cpu_some", "CPU"}, {"cgroup_pressure_memory_some", "memory"}, {"cgroup_pressure_io_some", "storage"}}},
	}},
}
