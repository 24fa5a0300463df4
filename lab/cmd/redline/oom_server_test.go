package main

import (
	"io"
	"net/http"
	"os/exec"
	"sync"
	"time"
)

// memoryVerb makes the test binary a server that uses memory.
const memoryVerb = "serve-memory"

// The kinds of servers.
const (
	leaking = "leak"   // each request keeps 256 KiB
	holding = "hold"   // keeps nothing
	parent  = "parent" // as holding, and its child leaks beside it
	filling = "fill"   // keeps small objects that the collector has to mark, and allocates as many again
	hoarder = "hoard"  // leaks without any request, as the child of parent
	couple  = "couple" // as holding, and its child does nothing
	idle    = "idle"   // does nothing, as the child of couple
)

// node is an object with pointers.
type node struct {
	next *node
	_    [96]byte
}

// serveMemory serves at an address until the process is ended.
func serveMemory(addr, kind string) error {
	var mu sync.Mutex
	var kept [][]byte
	var list *node
	keep := func() {
		mu.Lock()
		defer mu.Unlock()
		block := make([]byte, 256<<10)
		for i := 0; i < len(block); i += 1024 {
			block[i] = 1
		}
		kept = append(kept, block)
	}
	switch kind {
	case parent, couple:
		child := hoarder
		if kind == couple {
			child = idle
		}
		c := exec.Command("/proc/self/exe", memoryVerb, addr, child)
		if err := c.Start(); err != nil {
			return err
		}
		go func() { _ = c.Wait() }() // it is killed
	case hoarder:
		time.Sleep(1500 * time.Millisecond)
		for {
			keep()
			time.Sleep(time.Millisecond)
		}
	case idle:
		time.Sleep(time.Hour) // it is killed
		return nil
	}
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the client's end is no problem of the server
		switch kind {
		case leaking:
			keep()
		case filling:
			mu.Lock()
			for range 40 {
				list = &node{next: list}
			}
			mu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent)
	}))
}
