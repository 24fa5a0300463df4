// The program of the tests: it spends its time in known functions, in fixed parts.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

var sink int

//go:noinline
func work(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i ^ s
	}
	return s
}

//go:noinline
func thirty() { sink += work(30_000) }

//go:noinline
func sixty() { inlined() }

func inlined() { sink += work(60_000) }

//go:noinline
func ten() { sink += generic(10_000) }

//go:noinline
func generic[T int | int64](n T) T { return T(work(int(n))) }

//go:noinline
func calls() {
	for range 3000 {
		syscall.Getppid()
	}
}

func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}

//go:noinline
func napShort() { nap(5 * time.Millisecond); sink++ }

//go:noinline
func napLong() { nap(20 * time.Millisecond); sink++ }

// compiled runs code that no file has: dec ecx; jnz -4; ret.
func compiled() {
	code, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	copy(code, "\xb9\x00\x00\x40\x00\xff\xc9\x75\xfc\xc3")
	if err := syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		panic(err)
	}
	at := unsafe.Pointer(&code[0])
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	if err := os.WriteFile(path, []byte(fmt.Sprintf("%x 1000 JS:*hot /srv/app.js:1:13\n", at)), 0o600); err != nil {
		panic(err)
	}
	fmt.Println(path)
	entry := &at
	f := *(*func())(unsafe.Pointer(&entry))
	for {
		f()
	}
}

// children starts a child that works each time a line is read.
func children() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		c := exec.Command("/proc/self/exe", "child")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println("started", c.Process.Pid)
	}
	os.Exit(0)
}

// threads blocks threads in a pipe as often as it can.
func threads() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	go func() {
		runtime.LockOSThread()
		for b := make([]byte, 1); ; {
			_, _ = syscall.Read(p[0], b)
		}
	}()
	for {
		_, _ = syscall.Write(p[1], []byte("x"))
		nap(time.Millisecond)
	}
}

func main() {
	runtime.LockOSThread()
	mode := os.Args[1]
	if mode != "child" {
		fmt.Println("ready")
		go func() { // the end of the input ends the program
			if mode != "children" {
				_, _ = os.Stdin.Read(make([]byte, 1))
				os.Exit(0)
			}
		}()
	}
	switch mode {
	case "work":
		for { // in a small part of the interval of the samples, which would otherwise keep step
			thirty()
			sixty()
			ten()
		}
	case "calls":
		for {
			calls()
		}
	case "naps":
		for {
			napShort()
			napLong()
		}
	case "compiled":
		compiled()
	case "children":
		children()
	case "threads":
		threads()
	case "child":
		for {
			ten()
		}
	}
}
