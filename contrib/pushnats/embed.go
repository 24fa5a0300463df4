package pushnats

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// An embedded is a NATS server inside this process.
type embedded struct {
	server *server.Server
	config server.JetStreamConfig
	lock   *os.File
	work   sync.WaitGroup

	started chan struct{}          // closed when Start has returned
	reserve int64                  // free bytes without which storing is not started again
	sick    atomic.Pointer[string] // why it cannot write

	mu       sync.Mutex
	closed   bool
	tried    time.Time // when storing was started again, or was to be
	examined time.Time
}

// maxMemory bounds what the server keeps in memory, which is the state of consumers.
const maxMemory = 64 << 20

// embed starts a server whose data is in o.Dir.
func embed(o *Options) (*embedded, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("pushnats: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	name, _ := os.Hostname()
	so := &server.Options{
		ServerName: name + "-" + strconv.Itoa(os.Getpid()),
		DontListen: true, NoSigs: true,
		JetStream: true, StoreDir: o.Dir,
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  2*o.MaxBytes + 64<<20, // it reserves MaxBytes, for a moment twice if nodes of a cluster begin together
		MaxPayload:         int32(o.MaxEventBytes + head),
		MaxPending:         64 << 20,
		SyncAlways:         o.Sync == 0,
		SyncInterval:       o.Sync,
		PingInterval:       o.Ping, MaxPingsOut: 2,
	}
	if so.SyncAlways {
		so.SyncInterval = 2 * time.Minute // of what is not an event
	}
	if o.Listen != "" {
		if err := listen(so, o.Listen); err != nil {
			_ = lock.Close()
			return nil, err
		}
	}
	if o.Configure != nil {
		o.Configure(so)
	}
	if so.Cluster.Port != 0 && so.DontListen {
		_ = lock.Close()
		return nil, errors.New("pushnats: a server in a cluster has to listen: set Options.Listen, such as to 127.0.0.1:0")
	}
	s, err := server.NewServer(so)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("pushnats: settings of the embedded server: %w", err)
	}
	s.SetLoggerV2(logger{o.Logger}, false, false, false)
	e := &embedded{server: s, lock: lock, started: make(chan struct{}), reserve: int64(4*o.MaxEventBytes + 1<<20), config: server.JetStreamConfig{
		StoreDir: so.StoreDir, MaxMemory: so.JetStreamMaxMemory, MaxStore: so.JetStreamMaxStore,
		SyncInterval: so.SyncInterval, SyncAlways: so.SyncAlways, Domain: so.JetStreamDomain,
	}}
	e.work.Go(func() { // in a cluster it waits for the others, and nobody waits for it
		s.Start()
		close(e.started)
	})
	if so.Cluster.Port == 0 {
		if !s.ReadyForConnections(30 * time.Second) {
			e.close()
			return nil, fmt.Errorf("pushnats: the embedded server does not start: see the log, and check that %s is writable and that its port is free", o.Dir)
		}
		<-e.started
	}
	return e, nil
}

// errStarting means that the server has not started its storage yet: to ask it meanwhile would disturb
// the start.
var errStarting = errors.New("the embedded server is starting")

func (e *embedded) hasStarted() bool {
	select {
	case <-e.started:
		return true
	default:
		return false
	}
}

func listen(so *server.Options, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("pushnats: Options.Listen: %w: use HOST:PORT", err)
	}
	if so.Port, err = strconv.Atoi(port); err != nil || so.Port < 0 || so.Port > 65535 {
		return fmt.Errorf("pushnats: Options.Listen: port %q: use a number up to 65535", port)
	}
	if so.Port == 0 {
		so.Port = server.RANDOM_PORT
	}
	so.Host, so.DontListen = host, false
	return nil
}

// lockDir makes sure that one process uses a directory at a time.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pushnats: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("pushnats: lock %s: %w: another process uses it; give each its own, or connect by Options.URL", dir, err)
	}
	return f, nil
}

// again is how often a server that cannot write is looked at.
const again = time.Second

// well returns why the server cannot write, as far as it is known. Once a write has failed,
// as on a full disk, the server refuses others without an answer, until its storage is
// started again: well does that when there is space.
func (e *embedded) well() error {
	if !e.hasStarted() {
		return errStarting
	}
	if e.sick.Load() == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	sick := e.sick.Load()
	if sick == nil || e.closed || time.Since(e.tried) < again {
		return e.trouble()
	}
	e.tried = time.Now()
	if free, err := space(e.config.StoreDir); err != nil || free < e.reserve {
		return e.trouble()
	}
	if err := e.server.ShutdownJetStream(); err != nil {
		return err
	}
	config := e.config
	if err := e.server.EnableJetStream(&config); err != nil {
		return fmt.Errorf("start storing again: %w", err)
	}
	e.sick.Store(nil)
	return nil
}

func (e *embedded) trouble() error {
	if sick := e.sick.Load(); sick != nil {
		return fmt.Errorf("the embedded server cannot write: %s: free space on the disk of %s", *sick, e.config.StoreDir)
	}
	return nil
}

// examine looks for a cause when something has failed, and returns it. A server that has yet
// to start its storage is not ill: to start it twice would end the start.
func (e *embedded) examine() error {
	if !e.hasStarted() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.sick.Load() != nil || time.Since(e.examined) < again/10 {
		return e.trouble()
	}
	e.examined = time.Now()
	if !e.server.JetStreamEnabled() {
		e.ail("storing is disabled")
		return e.trouble()
	}
	for _, problem := range e.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if problem.Type == server.HealthzErrorStream && strings.Contains(problem.Error, "write error") {
			e.ail(problem.Error)
			return e.trouble()
		}
	}
	return nil
}

func (e *embedded) ail(why string) { e.sick.Store(&why) }

// space returns how many bytes a file system has left.
func space(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

func (e *embedded) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.server.Shutdown()
	e.server.WaitForShutdown()
	e.work.Wait()
	_ = e.lock.Close()
}
