package bpf

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What is sampled and what is exact between two windows: the process sends, and its segments are
// lost, while nothing that costs much is attached.
func TestBetweenWindows(t *testing.T) {
	c := count(t, "tcp", false)
	attach := func(on bool) {
		t.Helper()
		if err := c.s.source.observe(on); err != nil {
			t.Fatal(err)
		}
	}
	attach(false)
	before := c.now()
	conn := joined(t, c)
	deaf, hear := filters(t, conn)
	deaf()
	c.do("send 100")
	got := c.eventually(before, func(n Counts) bool { return n.TCP.Retransmits >= 2 })
	hear()
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	want := c.do("retransmits")
	if got = c.now().Sub(before); fmt.Sprint(got.TCP.Retransmits) != want || got.Accepts != 1 {
		t.Errorf("%d segments sent again, the kernel has %s; %d accepted", got.TCP.Retransmits, want, got.Accepts)
	}
	if got.TCP.Sends != 0 || got.Voluntary != 0 || got.Waited.Count() != 0 {
		t.Errorf("seen without a window: %+v", got.TCP)
	}
	// What was known of the connection before the window is forgotten.
	if _, err := conn.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	attach(true)
	before = c.now()
	c.do("receive 5")
	c.do("send 1")
	if got = c.now().Sub(before); got.TCP.Sends != 1 || got.TCP.Receives != 1 || got.Answers != 1 || got.TCP.Unread.Count() != 0 || got.Waited.Count() == 0 {
		t.Errorf("%+v, %d answers, %d waits", got.TCP, got.Answers, got.Waited.Count())
	}
}

// A peer that takes longer to answer than a window lasts has its wait nevertheless.
func TestPeerBeforeWindow(t *testing.T) {
	c := count(t, "slow", false)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if err := c.s.source.observe(false); err != nil {
		t.Fatal(err)
	}
	before := c.now()
	c.do("ask " + ln.Addr().String())
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(answerAfter) // how long the peer takes
	if err := c.s.source.observe(true); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	c.do("listen")
	got := c.now().Sub(before)
	if len(got.Peers) != 1 || got.Peers[0].Connects != 1 || got.Peers[0].Sends != 0 || got.Peers[0].Wait.Count() != 1 {
		t.Fatalf("%+v", got.Peers)
	}
	// The time of the question is known to a tick of the kernel's clock, of 10 ms at most.
	if wait := got.Peers[0].Wait.Mean(); wait < answerAfter.Seconds()-0.011 || wait > 60 {
		t.Errorf("waited %v s", wait)
	}
}

var asked net.Conn

// askSlowly asks a peer, and reads the answer when it is told to.
func askSlowly(line string) string {
	verb, addr, _ := strings.Cut(line, " ")
	if verb == "ask" {
		conn, err := net.Dial("tcp", addr)
		check(err)
		_, err = conn.Write([]byte("question"))
		check(err)
		asked = conn
		return "done"
	}
	_, err := io.ReadFull(asked, make([]byte, 6))
	check(err)
	return "done"
}

// The counts of calls and errors of a busy process are exact, although the rest is sampled.
func TestBusy(t *testing.T) {
	root(t)
	part := play(t, "calls", 0)
	s, err := Open(Options{PID: part.cmd.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := &counted{part, t, s}
	before := c.now()
	rounds, got := uint64(0), Counts{}
	for end := time.Now().Add(time.Minute); (rounds == 0 || got.Scaled.Share() == 1) && time.Now().Before(end); rounds++ {
		c.do("go")
		got = c.now().Sub(before)
	}
	if share := got.Scaled.Share(); share <= 0 || share >= 1 {
		t.Fatalf("the programs were attached for %v of the time, after %d rounds", share, rounds)
	}
	for name, want := range map[string]uint64{"getppid": plainCalls, "pwrite64": writeCalls, "preadv": readCalls, "recvfrom": againCalls, "fdatasync": failedCalls} {
		if n := got.Calls[name].Calls; n != rounds*want {
			t.Errorf("%s: %d calls, want %d", name, n, rounds*want)
		}
	}
	if n := got.Failures[Failure{"fdatasync", "EBADF"}]; n != rounds*failedCalls {
		t.Errorf("%d failures, want %d", n, rounds*failedCalls)
	}
}
