package bpf

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed calls_amd64.txt
var callsAMD64 string

//go:embed calls_arm64.txt
var callsARM64 string

// The sizes of the tables of the programs.
const (
	mostSlots   = 128
	mostNumbers = 512
	outsideSlot = mostSlots - 1
)

// The kinds of calls, of which the programs read more than the result.
const (
	plain uint8 = iota
	transfer
	wait
	control
	enter
	accept
	sendTo
	clone
)

var kindOf = map[string]uint8{
	"read": transfer, "readv": transfer, "pread64": transfer, "preadv": transfer, "preadv2": transfer, "recvfrom": transfer, "recvmsg": transfer,
	"write": transfer, "writev": transfer, "pwrite64": transfer, "pwritev": transfer, "pwritev2": transfer, "sendmsg": transfer,
	"sendfile": transfer, "splice": transfer, "copy_file_range": transfer, "sendto": sendTo,
	"epoll_wait": wait, "epoll_pwait": wait, "epoll_pwait2": wait, "epoll_ctl": control,
	"io_uring_enter": enter, "accept": accept, "accept4": accept,
	"clone": clone, "clone3": clone, "fork": clone, "vfork": clone,
}

// single are the calls that have a counter of their own, besides those of kindOf.
var single = strings.Fields(`
	futex nanosleep clock_nanosleep sched_yield poll ppoll select pselect6 restart_syscall rt_sigreturn rt_sigprocmask rt_sigaction
	tgkill open openat openat2 close fsync fdatasync sync_file_range stat fstat newfstatat statx access faccessat2 lseek getdents64
	unlink unlinkat rename renameat renameat2 mkdirat ftruncate fallocate flock fcntl ioctl pipe2 eventfd2 timerfd_settime
	mmap munmap mprotect mremap madvise brk membarrier connect socket socketpair bind listen shutdown getsockopt setsockopt
	getsockname getpeername recvmmsg sendmmsg execve wait4 waitid getpid gettid getppid clock_gettime gettimeofday
	getrandom prctl timer_settime epoll_create1 io_submit io_getevents process_vm_readv readlinkat msync getrusage`)

// table says where the programs count which call.
type table struct {
	slots     [mostNumbers]uint8
	kinds     [mostNumbers]uint8
	returning uint8
	names     [mostSlots]string // empty: no call of this system
}

// newTable makes the table of an architecture.
func newTable(arch string) (*table, error) {
	text := map[string]string{"amd64": callsAMD64, "arm64": callsARM64}[arch]
	if text == "" {
		return nil, fmt.Errorf("there is no table of system calls of %s", arch)
	}
	wanted := map[string]bool{}
	for _, name := range single {
		wanted[name] = true
	}
	t := &table{}
	t.names[0], t.names[outsideSlot] = Other, Outside
	next := uint8(1)
	for line := range strings.Lines(text) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		if err != nil || n >= mostNumbers {
			return nil, fmt.Errorf("table of system calls: %q", line)
		}
		kind, special := kindOf[name]
		if !special && !wanted[name] {
			continue
		}
		if next == outsideSlot {
			return nil, fmt.Errorf("table of system calls: more than %d are counted one by one", outsideSlot-1)
		}
		t.slots[n], t.kinds[n], t.names[next] = next, kind, name
		if name == "rt_sigreturn" {
			t.returning = next
		}
		next++
	}
	return t, nil
}
