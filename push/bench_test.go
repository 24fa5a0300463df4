package push_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
)

// In the process of a server under measurement, the variable names its kind.
const asServer = "REDLINE_PUSH_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(asServer); kind != "" {
		runServer(kind)
		return
	}
	os.Exit(m.Run())
}

// runServer serves a hub until its input ends. A line of input publishes one event of 40
// bytes; any other asks for a collection of garbage.
func runServer(kind string) {
	kind, delay, _ := strings.Cut(kind, " ")
	wait, _ := time.ParseDuration(delay)
	hub, err := push.New(push.Options{Heartbeat: -1, MaxDelay: wait})
	if err != nil {
		panic(err)
	}
	h, addr := hub.Handler(nil), ""
	if kind == "nethttp" {
		addr = httptest.NewServer(h).Listener.Addr().String()
	} else {
		s := &redline.Server{Transport: redline.Transport(kind), Native: h.Serve}
		a, err := s.Listen("127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go func() { _ = s.Run() }()
		addr = a.String()
	}
	fmt.Println(addr)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() != "publish" {
			debug.FreeOSMemory()
			fmt.Println(hub.Stats().Subscribers)
			continue
		}
		r, err := hub.Publish(context.Background(), push.Event{Topic: "t", Data: []byte(`{"price":1234.5,"at":"2026-01-01T00:00"}`)})
		if err != nil {
			panic(err)
		}
		_ = r
	}
}

// BenchmarkBroadcast measures a server in its own process, with one core: what an event
// costs it for each subscriber, and what a subscriber keeps in memory. Events are published
// every 100 ms for five seconds, after one second.
//
//	go test -run '^$' -bench Broadcast -benchtime 1x ./push
func BenchmarkBroadcast(b *testing.B) {
	for _, kind := range []string{"nethttp", "epoll", "uring"} {
		for _, n := range []int{1000, 5000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					broadcast(b, kind, n, 100*time.Millisecond)
				}
			})
		}
	}
}

// BenchmarkCoalesced measures 100 events a second, which may wait 20 ms for company.
//
//	go test -run '^$' -bench Coalesced -benchtime 1x ./push
func BenchmarkCoalesced(b *testing.B) {
	for _, kind := range []string{"nethttp", "epoll", "uring"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				broadcast(b, kind+" 20ms", 5000, 10*time.Millisecond)
			}
		})
	}
}

// BenchmarkPublish measures a publish to nobody.
func BenchmarkPublish(b *testing.B) {
	hub, err := push.New(push.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer hub.Close()
	e := push.Event{Topic: "t", Data: []byte("0123456789")}
	for b.Loop() {
		if _, err := hub.Publish(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
}

func broadcast(b *testing.B, kind string, n int, every time.Duration) {
	name, args := os.Args[0], []string{}
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 1 {
		name, args = taskset, []string{"-c", "0", os.Args[0]}
	}
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), asServer+"="+kind, "GOMAXPROCS=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = c.Wait()
	}()
	lines := bufio.NewScanner(out)
	ask := func(what string) string {
		if what != "" {
			fmt.Fprintln(in, what)
		}
		if !lines.Scan() {
			b.Fatal("the server has ended")
		}
		return lines.Text()
	}
	addr := ask("")
	before := resident(b, c.Process.Pid)
	for i := range n {
		subscribe(b, addr, i)
	}
	for ask("count") != strconv.Itoa(n) {
		time.Sleep(10 * time.Millisecond)
	}
	ask("collect")
	idle := resident(b, c.Process.Pid) - before
	publish := func(times int) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for range times {
			<-tick.C
			fmt.Fprintln(in, "publish")
		}
	}
	events := int(5 * time.Second / every)
	publish(events / 5)
	cpu := cpuTime(b, c.Process.Pid)
	publish(events)
	cpu = cpuTime(b, c.Process.Pid) - cpu
	busy := resident(b, c.Process.Pid) - before
	b.ReportMetric(float64(cpu.Microseconds())/float64(events)/float64(n), "cpu-us/event")
	b.ReportMetric(float64(idle)/float64(n), "B-idle/subscriber")
	b.ReportMetric(float64(busy)/float64(n), "B-busy/subscriber")
}

// subscribe opens a connection, which discards what it receives.
func subscribe(b *testing.B, addr string, i int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /?topic=t HTTP/1.1\r\nHost: x\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("subscriber %d: %v, %v", i, resp, err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
}

// resident returns the resident memory of a process, in bytes.
func resident(b *testing.B, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Skip("needs Linux")
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// cpuTime returns the CPU time of a process.
func cpuTime(b *testing.B, pid int) (sum time.Duration) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
		if err != nil {
			continue
		}
		ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
