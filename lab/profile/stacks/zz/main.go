package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/profile/stacks"
)

func main() {
	kind := flag.String("kind", "cpu", "")
	d := flag.Duration("for", 2*time.Second, "")
	hz := flag.Int("hz", 99, "")
	kernel := flag.Bool("kernel", true, "")
	tree := flag.Bool("tree", false, "")
	lines := flag.Bool("lines", false, "")
	out := flag.String("o", "/tmp/stk/out.pprof", "")
	flag.Parse()
	var pids []int
	for _, a := range flag.Args() {
		n, _ := strconv.Atoi(a)
		pids = append(pids, n)
	}
	t, err := stacks.Take(context.Background(), stacks.Options{PIDs: pids, Kind: stacks.Kind(*kind), For: *d, Hz: *hz, Kernel: *kernel, Tree: *tree, Lines: *lines})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("lost", t.Lost)
	for _, n := range t.Notes {
		fmt.Println("note:", n)
	}
	if err := t.Profile.CheckValid(); err != nil {
		fmt.Println(err)
	}
	f, _ := os.Create(*out)
	t.Profile.Write(f)
	f.Close()
}
