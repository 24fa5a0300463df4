package frames

import "strings"

// A class is a purpose for which the Go runtime, the standard library or a common library uses
// resources.
type class struct {
	name      string
	functions []string // beginnings of names
	packages  []string // import paths, with what is below them
}

// classes are in the order in which they are tried.
var classes = []class{
	{name: "gc", functions: []string{
		"runtime.gc", "runtime.(*gc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.scan", "runtime.greyobject", "runtime.markroot",
		"runtime.sweepone", "runtime.(*sweepLocked)", "runtime.(*mspan).sweep", "runtime.wbBuf", "runtime.shade", "runtime.findObject",
		"runtime.tryDeferToSpanScan", "runtime.(*spanInlineMarkBits)", "runtime.spanSetScans", "runtime.deductAssistCredit", "runtime.(*limiterEvent)",
		"runtime.bulkBarrier", "runtime.typedmemmove", "runtime.(*scavenge", "runtime.(*pageAlloc).scav",
	}},
	{name: "alloc", functions: []string{
		"runtime.malloc", "runtime.newobject", "runtime.newarray", "runtime.makeslice", "runtime.growslice", "runtime.makechan", "runtime.makemap",
		"runtime.rawstring", "runtime.rawbyteslice", "runtime.concatstring", "runtime.slicebytetostring", "runtime.stringtoslicebyte", "runtime.convT",
		"runtime.(*mcache)", "runtime.(*mcentral)", "runtime.(*mheap)", "runtime.nextFreeFast", "runtime.(*pageAlloc)", "runtime.profilealloc", "runtime.heapSetType", "runtime.heapBits", "runtime.mProf",
	}},
	{name: "stacks", functions: []string{"runtime.newstack", "runtime.morestack", "runtime.copystack", "runtime.stackalloc", "runtime.stackfree", "runtime.stackcache", "runtime.adjust", "runtime.shrinkstack"}},
	{name: "syscalls", packages: []string{"syscall", "internal/runtime/syscall", "runtime/internal/syscall", "golang.org/x/sys/unix"}, functions: []string{
		"runtime.entersyscall", "runtime.exitsyscall", "runtime.reentersyscall", "runtime/internal/syscall.", "internal/poll.ignoringEINTR",
	}},
	{name: "locks", packages: []string{"sync", "internal/sync"}, functions: []string{
		"runtime.lock", "runtime.unlock", "runtime.semacquire", "runtime.semrelease", "runtime.notifyList", "runtime.(*semaRoot)", "runtime.procyield", "internal/runtime/atomic.",
	}},
	{name: "channels", functions: []string{"runtime.chan", "runtime.selectgo", "runtime.selectnb", "runtime.send", "runtime.recv", "runtime.closechan", "runtime.sellock", "runtime.selunlock"}},
	{name: "scheduler", functions: []string{
		"runtime.schedule", "runtime.findRunnable", "runtime.findrunnable", "runtime.park", "runtime.gopark", "runtime.goready", "runtime.ready", "runtime.mcall", "runtime.execute",
		"runtime.stealWork", "runtime.runq", "runtime.globrunq", "runtime.wakep", "runtime.startm", "runtime.stopm", "runtime.mPark", "runtime.note", "runtime.futex",
		"runtime.netpoll", "runtime.gosched", "runtime.Gosched", "runtime.goexit0", "runtime.newproc", "runtime.gfget", "runtime.sysmon", "runtime.usleep", "runtime.osyield",
		"runtime.resetspinning", "runtime.handoffp", "runtime.retake", "runtime.preempt", "runtime.asyncPreempt", "runtime.goschedImpl", "runtime.casgstatus", "runtime.checkTimers", "runtime.(*timers)", "runtime.injectglist", "runtime.pidle", "runtime.releasep", "runtime.acquirep", "runtime.gogo", "runtime.epoll",
	}},
	{name: "memmove", functions: []string{"runtime.memmove", "runtime.memclr", "runtime.duff", "runtime.memequal", "memeqbody", "runtime.memhash"}},
	{name: "maps", packages: []string{"internal/runtime/maps"}, functions: []string{"runtime.map", "runtime.evacuate", "runtime.hashGrow", "aeshashbody", "runtime.aeshash", "runtime.strhash"}},
	{name: "json", packages: []string{
		"encoding/json", "github.com/json-iterator/go", "github.com/goccy/go-json", "github.com/bytedance/sonic", "github.com/mailru/easyjson", "github.com/segmentio/encoding/json",
	}},
	{name: "tls", packages: []string{"crypto", "vendor/golang.org/x/crypto", "golang.org/x/crypto"}},
	{name: "compression", packages: []string{"compress", "github.com/klauspost/compress", "github.com/andybalholm/brotli"}},
	{name: "regexp", packages: []string{"regexp"}},
	{name: "sql", packages: []string{"database/sql", "github.com/jackc/pgx", "github.com/lib/pq", "github.com/go-sql-driver/mysql"}},
	{name: "templates", packages: []string{"text/template", "html/template"}},
	{name: "logging", packages: []string{"log", "go.uber.org/zap", "github.com/sirupsen/logrus", "github.com/rs/zerolog"}},
	{name: "fmt", packages: []string{"fmt"}},
	{name: "http", packages: []string{"net/http", "golang.org/x/net/http2", "vendor/golang.org/x/net", "net/textproto", "github.com/valyala/fasthttp"}},
	{name: "net", packages: []string{"net", "internal/poll"}},
}

// The classes of code that has no purpose of its own.
const (
	ClassKernel  = "kernel" // outside of a system call, such as a page fault or an interrupt
	ClassUser    = "user code"
	ClassLibrary = "other libraries"
	ClassOther   = "other"
)

// Classes returns the names of all classes.
func Classes() (names []string) {
	for _, c := range classes {
		names = append(names, c.name)
	}
	return append(names, ClassKernel, ClassUser, ClassLibrary, ClassOther)
}

// ClassOf returns the class of a Go function, or "" if it has none.
func ClassOf(name string) string {
	pkg := Package(name)
	for i := range classes {
		for _, f := range classes[i].functions {
			if strings.HasPrefix(name, f) {
				return classes[i].name
			}
		}
		for _, p := range classes[i].packages {
			if within(pkg, p) {
				return classes[i].name
			}
		}
	}
	return ""
}
