package bus

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/redline-go/redline/lab/load/fleet"
)

// patience bounds every wait.
const patience = 30 * time.Second

// open starts a broker and returns the address of a run on it.
func open(t *testing.T) Address {
	t.Helper()
	a := New("")
	b, err := Listen("127.0.0.1:0", a.Token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	a.URL = b.URL("127.0.0.1")
	return a
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func closed(t *testing.T, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func next(t *testing.T, inbox <-chan *fleet.Message) *fleet.Message {
	t.Helper()
	select {
	case m, ok := <-inbox:
		if !ok {
			t.Fatal("the inbox is closed")
		}
		return m
	case <-time.After(patience):
		t.Fatal("no message arrived")
	}
	return nil
}

func TestBothWays(t *testing.T) {
	a, ctx := open(t), within(t)
	coordinator, err := Coordinator(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, coordinator)
	var _ fleet.Carrier = coordinator
	ids := []string{NewID(), NewID()}
	for i, id := range ids {
		w, err := Worker(ctx, a, id)
		if err != nil {
			t.Fatal(err)
		}
		closed(t, w)
		var wire fleet.Wire = w
		if err := wire.Send(&fleet.Message{From: id, Join: &fleet.Join{Index: i}}); err != nil {
			t.Fatal(err)
		}
		if m := next(t, coordinator.Inbox()); m.From != id || m.Join == nil || m.Join.Index != i || m.Arrived.IsZero() {
			t.Errorf("got %+v", m)
		}
		if err := coordinator.Send(id, &fleet.Message{Start: &fleet.Start{At: int64(i)}}); err != nil {
			t.Fatal(err)
		}
		if m := next(t, wire.Inbox()); m.Start == nil || m.Start.At != int64(i) {
			t.Errorf("got %+v", m)
		}
	}
	for _, id := range []string{"", "*", "a.b", ">"} {
		if err := coordinator.Send(id, &fleet.Message{}); err == nil {
			t.Errorf("a message to %q was sent", id)
		}
	}
}

// A worker may start before the coordinator.
func TestCoordinatorComesLater(t *testing.T) {
	for range 10 {
		if comesLater(t) {
			return
		}
	}
	t.Error("every port was in use by another process")
}

// comesLater starts a worker and then the server, at a port that was free. It returns false
// if another process has taken the port meanwhile.
func comesLater(t *testing.T) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	a := New("nats://" + addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		w, err := Worker(ctx, a, "w")
		if err == nil {
			err = w.Close()
		}
		done <- err
	}()
	b, err := Listen(addr, a.Token)
	if err != nil && strings.Contains(err.Error(), "in use") {
		cancel()
		<-done
		return false
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := <-done; err != nil {
		t.Error(err)
	}
	return true
}

func TestRefused(t *testing.T) {
	a := open(t)
	wrong := a
	wrong.Token = New("").Token
	if _, err := Worker(within(t), wrong, "w"); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a wrong token: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	nobody := a
	nobody.URL = "nats://user:secret@127.0.0.1:1"
	if _, err := Worker(ctx, nobody, "w"); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
	for _, bad := range []Address{{}, {URL: a.URL, Run: "a.b", Token: a.Token}, {URL: a.URL, Run: "a", Token: "short"}} {
		if _, err := Coordinator(within(t), bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if _, err := Listen("127.0.0.1", a.Token); err == nil {
		t.Error("an address without a port is taken")
	}
	if _, err := Listen(strings.TrimPrefix(a.URL, "nats://"), a.Token); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("an address in use: %v", err)
	}
}

// A user of the server without the run's token cannot forge messages.
func TestForgery(t *testing.T) {
	a, ctx := open(t), within(t)
	coordinator, err := Coordinator(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, coordinator)
	w, err := Worker(ctx, a, "w")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, w)
	stranger, err := nats.Connect(a.URL, nats.Token(password(a.Token)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	data := []byte(`{"from":"w","gone":{"why":"made up"}}`)
	for _, seal := range []string{"", "zz", hex.EncodeToString(mac("another token", a.coordinator(), data)), hex.EncodeToString(a.seal(a.worker("w"), data))} {
		m := nats.NewMsg(a.coordinator())
		m.Data = data
		m.Header.Set(sealHeader, seal)
		if err := stranger.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := stranger.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	if err := w.Send(&fleet.Message{From: "w", Ready: &fleet.Ready{}}); err != nil {
		t.Fatal(err)
	}
	if m := next(t, coordinator.Inbox()); m.Ready == nil {
		t.Errorf("got %+v", m.Gone)
	}
}

func TestTooLarge(t *testing.T) {
	a := open(t)
	w, err := Worker(within(t), a, "w")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, w)
	big := `"` + strings.Repeat("x", maxPayload) + `"`
	if err := w.Send(&fleet.Message{Report: &fleet.Report{Event: []byte(big)}}); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("got %v", err)
	}
	fits := `"` + strings.Repeat("x", int(w.Room())-2) + `"`
	if err := w.Send(&fleet.Message{Report: &fleet.Report{Event: []byte(fits)}}); err != nil {
		t.Error(err)
	}
}

// orphan returns a worker whose server has ended.
func orphan(t *testing.T) *Conn {
	t.Helper()
	a := New("")
	b, err := Listen("127.0.0.1:0", a.Token)
	if err != nil {
		t.Fatal(err)
	}
	a.URL = b.URL("127.0.0.1")
	w, err := Worker(within(t), a, "w")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	return w
}

// Close does not wait for a server that has ended.
func TestCloseWithoutServer(t *testing.T) {
	w := orphan(t)
	for end := time.Now().Add(patience); w.nc.IsConnected(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still connected")
		}
	}
	// Later the client gives up, and the reader returns the error.
	if err := w.Close(); !errors.Is(err, nats.ErrDisconnected) && !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("got %v", err)
	}
}

// If the server stays away, the inbox is closed, and Close returns the reason.
func TestServerGone(t *testing.T) {
	w := orphan(t)
	select {
	case _, open := <-w.Inbox():
		if open {
			t.Error("a message without a server")
		}
	case <-time.After(2 * patience):
		t.Fatal("the inbox stays open")
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "NATS server") {
		t.Errorf("got %v", err)
	}
}
