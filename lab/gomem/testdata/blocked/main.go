// Command blocked has a known number of goroutines that wait in known functions. It answers
// each line on its standard input once what the line asks for is done: "start", "spawn N",
// "timers N", "flip N", "deep N", "spin N", "allocate N", "rates", "collect", "profile KIND FILE".
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	begun sync.WaitGroup // for goroutines that are about to wait
	never = make(chan int)
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := append(strings.Fields(in.Text()), "", "", "")
		n, _ := strconv.Atoi(words[1])
		switch words[0] {
		case "start":
			startAll()
		case "spawn":
			start(n, waitReceive)
		case "timers":
			start(n, waitAfter)
		case "flip":
			start(n, flip)
			start(n, feed)
		case "deep":
			start(1, func() { begun.Done(); deep(n) })
		case "spin":
			start(n, waitSpin)
		case "allocate":
			allocate(n)
		case "rates":
			runtime.SetBlockProfileRate(1)
			runtime.SetMutexProfileFraction(1)
			contend()
		case "collect":
			for range n {
				runtime.GC()
			}
		case "profile":
			write(words[1], words[2])
		}
		begun.Wait()
		fmt.Println("{}")
	}
}

func start(n int, f func()) {
	begun.Add(n)
	for range n {
		go f()
	}
}

type job struct{ c chan int }

func startAll() {
	locked.Lock()
	shared.Lock()
	waitFor.Add(1)
	full <- struct{}{}
	start(3, waitMutex)
	start(2, waitReaders)
	start(4, waitReceive)
	start(5, waitSend)
	start(6, waitSelect)
	start(2, waitSleep)
	start(3, waitNetwork)
	start(2, waitSyscall)
	start(3, waitCond)
	start(2, waitGroup)
	start(1, waitTimer)
	start(2, waitNil)
	start(2, waitNothing)
	start(2, waitGeneric[int])
	start(3, waitGeneric[string])
	start(2, (&job{never}).waitMethod)
	start(4, func() {
		func() {
			begun.Done()
			<-never
		}()
	})
	start(3, waitInlined)
	start(3, waitAfter)
	start(2, waitTicker)
	start(2, waitEight)
	start(2, waitNine)
	start(2, waitDone)
	start(4, waitSemaphore)
	start(2, waitHandOver)
	start(3, waitJob)
}

var (
	locked  sync.Mutex
	shared  sync.RWMutex
	waitFor sync.WaitGroup
	queue   = sync.NewCond(new(sync.Mutex))
)

func waitMutex()   { begun.Done(); locked.Lock() }
func waitReaders() { begun.Done(); shared.RLock() }
func waitReceive() { begun.Done(); <-never }
func waitSend()    { begun.Done(); never2 <- 1 }
func waitSleep()   { begun.Done(); time.Sleep(time.Hour) }
func waitGroup()   { begun.Done(); waitFor.Wait() }
func waitTimer()   { begun.Done(); <-time.After(time.Hour) }
func waitNothing() { begun.Done(); select {} }

var never2 = make(chan int)

func waitNil() {
	var c chan int
	begun.Done()
	<-c
}

func waitSelect() {
	begun.Done()
	select {
	case <-never:
	case never2 <- 1:
	}
}

var (
	done, stop = context.WithCancel(context.Background())
	full       = make(chan struct{}, 1) // a semaphore without room
	handOver   = make(chan struct{})
	jobs       = make(chan int)
)

// waitAfter is a sleep that a context ends early.
func waitAfter() {
	begun.Done()
	select {
	case <-time.After(time.Hour):
	case <-done.Done():
	}
}

func waitTicker() {
	t := time.NewTicker(time.Hour)
	defer t.Stop()
	begun.Done()
	for range t.C {
		stop()
	}
}

// waitEight waits for a timer and seven other channels.
func waitEight() {
	var c [6]chan struct{}
	for i := range c {
		c[i] = make(chan struct{})
	}
	t := time.NewTimer(time.Hour)
	begun.Done()
	select {
	case <-c[0]:
	case <-c[1]:
	case <-c[2]:
	case <-t.C:
	case <-c[3]:
	case <-c[4]:
	case <-c[5]:
	case <-done.Done():
	}
}

// waitNine waits for one more, which is too many.
func waitNine() {
	var c [7]chan struct{}
	for i := range c {
		c[i] = make(chan struct{})
	}
	t := time.NewTimer(time.Hour)
	begun.Done()
	select {
	case <-c[0]:
	case <-c[1]:
	case <-c[2]:
	case <-t.C:
	case <-c[3]:
	case <-c[4]:
	case <-c[5]:
	case <-c[6]:
	case <-done.Done():
	}
}

func waitDone() { begun.Done(); <-done.Done() }

func waitSemaphore() {
	t := time.NewTimer(time.Hour)
	begun.Done()
	select {
	case <-t.C:
	case full <- struct{}{}:
	case <-done.Done():
	}
}

// waitHandOver waits for a timer or a receiver.
func waitHandOver() {
	begun.Done()
	select {
	case handOver <- struct{}{}:
	case <-time.After(time.Hour):
	}
}

func waitJob() {
	begun.Done()
	select {
	case <-never:
	case <-time.After(time.Hour):
	}
}

// flip waits for a timer and for a job in turn.
func flip() {
	begun.Done()
	for {
		flipTimer()
		flipJob()
	}
}

//go:noinline
func flipTimer() {
	select {
	case <-time.After(100 * time.Microsecond):
	case <-done.Done():
	}
}

//go:noinline
func flipJob() {
	select {
	case <-jobs:
	case <-done.Done():
	}
}

func feed() {
	begun.Done()
	for {
		time.Sleep(100 * time.Microsecond)
		jobs <- 1
	}
}

func waitNetwork() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	begun.Done()
	_, _ = c.Read(make([]byte, 1))
}

func waitSyscall() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	begun.Done()
	_, _ = syscall.Read(p[0], make([]byte, 1))
}

func waitCond() {
	queue.L.Lock()
	begun.Done()
	queue.Wait()
}

func waitGeneric[T any]() {
	var c chan T = make(chan T)
	begun.Done()
	<-c
}

func (j *job) waitMethod() { begun.Done(); <-j.c }

// waitInlined calls functions that the compiler inlines.
//
//go:noinline
func waitInlined() { outer(never) }

func outer(c chan int) { begun.Done(); inner(c) }

func inner(c chan int) { <-c }

//go:noinline
func deep(n int) int {
	if n == 0 {
		return <-never
	}
	return deep(n-1) + n
}

func waitSpin() {
	begun.Done()
	for i := 0; ; i++ {
		if i < 0 {
			return
		}
	}
}

var keep [][]byte

//go:noinline
func allocateKept(n int) {
	for range n {
		keep = append(keep, make([]byte, 8<<10))
	}
}

var last []byte

//go:noinline
func allocateDropped(n int) {
	for range n {
		last = make([]byte, 32<<10)
	}
}

func allocate(n int) {
	allocateKept(n)
	allocateDropped(n)
}

// contend waits for a mutex and for a channel.
func contend() {
	var mu sync.Mutex
	var all sync.WaitGroup
	c := make(chan int)
	mu.Lock()
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			mu.Lock()
			time.Sleep(time.Millisecond)
			mu.Unlock()
			<-c
		}()
	}
	time.Sleep(20 * time.Millisecond)
	mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	close(c)
	all.Wait()
}

func write(kind, path string) {
	f, err := os.Create(path)
	if err == nil {
		err = pprof.Lookup(kind).WriteTo(f, 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}
