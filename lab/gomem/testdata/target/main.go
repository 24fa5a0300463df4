// Command target is a Go process whose runtime the tests read. It answers each line on its
// standard input with its own figures, and waits for the next. A line may have a command:
// "spawn N", "busy N", "limit N", "percent N", "collect N", "exec N".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

var keep [][]byte

func main() {
	debug.SetGCPercent(73)
	debug.SetMemoryLimit(3 << 30)
	runtime.GOMAXPROCS(3)
	for range 40 {
		go func() { <-make(chan int) }()
	}
	for range 7 {
		go func() { time.Sleep(time.Hour) }()
	}
	var mu sync.Mutex
	mu.Lock()
	for range 5 {
		go mu.Lock()
	}
	for range 100 {
		go func() {}()
	}
	for range 50 {
		keep = append(keep, make([]byte, 1<<20))
	}
	runtime.GC()
	runtime.GC()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var name string
		var n int
		_, _ = fmt.Sscan(in.Text(), &name, &n)
		command(name, n)
		time.Sleep(20 * time.Millisecond) // what was started has parked
		b, err := json.Marshal(own())
		if err != nil {
			panic(err)
		}
		fmt.Println(string(b))
	}
}

func command(name string, n int) {
	switch name {
	case "spawn":
		for range n {
			go func() { select {} }()
		}
	case "busy":
		for range n {
			go churn()
		}
	case "limit":
		debug.SetMemoryLimit(int64(n))
	case "percent":
		debug.SetGCPercent(n)
	case "collect":
		for range n {
			runtime.GC()
		}
	case "exec":
		panic(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
}

// churn starts goroutines that allocate and end, and changes GOMAXPROCS, for ever.
func churn() {
	for i := 0; ; i++ {
		var wg sync.WaitGroup
		for range 50 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				b := make([]byte, 64<<10)
				b[0]++
				time.Sleep(time.Microsecond)
			}()
		}
		wg.Wait()
		if i%500 == 0 {
			runtime.GOMAXPROCS(2 + i/500%7)
		}
	}
}

func own() map[string]int64 {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	samples := []metrics.Sample{
		{Name: "/gc/heap/goal:bytes"},
		{Name: "/gc/cycles/forced:gc-cycles"},
		{Name: "/gc/gogc:percent"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/sched/gomaxprocs:threads"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	m := map[string]int64{
		"goroutines": int64(runtime.NumGoroutine()), "cycles": gc.NumGC, "cpus": int64(runtime.NumCPU()),
		"pause": int64(gc.PauseTotal), "last": gc.LastGC.UnixNano(),
	}
	for _, s := range samples {
		switch s.Value.Kind() {
		case metrics.KindUint64:
			m[s.Name] = int64(s.Value.Uint64())
		case metrics.KindFloat64:
			m[s.Name] = int64(s.Value.Float64()*1e9 + 0.5)
		}
	}
	return m
}
