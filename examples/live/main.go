// Live is a dashboard that is pushed to: prices that move, and a chat that says who is there. All
// browsers, and all tabs of one, show the same.
//
//	go run ./examples/live
//	curl -N 'http://127.0.0.1:8080/events?topic=prices/*&topic=chat'
//	curl -d '{"name":"gopher","text":"hello"}' http://127.0.0.1:8080/chat
//
// End it, and start it again: the pages say so, connect again, and say what they have missed.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
)

//go:embed web/dist
var web embed.FS

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	every := flag.Duration("every", 60*time.Millisecond, "time between two prices")
	flag.Parse()
	if *every <= 0 {
		fmt.Fprintln(os.Stderr, "-every has to be longer than 0, such as 60ms")
		os.Exit(2)
	}
	if err := run(*addr, *every); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr string, every time.Duration) error {
	hub, err := push.New(push.Options{
		// A page that cannot keep up needs the last price of each share, and each word that was said.
		Rules: []push.Rule{
			{Pattern: "prices/*", Policy: push.Conflate, History: push.History{Events: 60}},
			{Pattern: "chat", Presence: true},
		},
	})
	if err != nil {
		return err
	}
	pages, err := fs.Sub(web, "web/dist")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	events := hub.Handler(nil)
	events.User = nameOf
	mux.Handle("/events", events)
	talk := &chat{hub: hub, spoke: map[string]time.Time{}, said: []said{}}
	// A page of another site cannot speak for its readers.
	mux.Handle("POST /chat", http.NewCrossOriginProtection().Handler(http.HandlerFunc(talk.say)))
	mux.HandleFunc("GET /chat", talk.list)
	mux.Handle("/", http.FileServerFS(pages))

	srv := &redline.Server{Handler: mux}
	at, err := srv.Listen(addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", at)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go quote(ctx, hub, every)
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- errors.Join(hub.Shutdown(ctx), srv.Shutdown(ctx))
	})
	if err := srv.Run(); !errors.Is(err, redline.ErrServerClosed) {
		return err
	}
	return <-down
}

// nameOf returns the name under which a page listens. Anyone may take any: it is for the list of who is
// there, and allows nothing.
func nameOf(r *http.Request) string {
	name := strings.TrimSpace(r.URL.Query().Get("name"))
	if utf8.RuneCountInString(name) > longestName {
		return ""
	}
	return name
}

// A price is the content of an event of topic prices/SYMBOL.
type price struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
	Open  float64 `json:"open"` // the day's first
	At    int64   `json:"at"`   // milliseconds since 1970
}

// quote publishes prices that move at random, until ctx is done.
func quote(ctx context.Context, hub *push.Hub, every time.Duration) {
	symbols := []string{"AERO", "BOLT", "CORE", "DUNE", "ECHO", "FLUX", "GRID", "HALO", "IRIS", "JADE", "KITE", "LUMO"}
	names := []string{
		"Aero Dynamics", "Bolt Works", "Core Metals", "Dune Energy", "Echo Media", "Flux Systems",
		"Grid Power", "Halo Health", "Iris Optics", "Jade Foods", "Kite Mobility", "Lumo Light",
	}
	prices := make([]price, len(symbols))
	for i := range prices {
		open := cents(20 + 400*rand.Float64())
		prices[i] = price{Name: names[i], Price: open, Open: open}
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		i := rand.IntN(len(prices))
		if n < len(prices) {
			i = n // each of them has a first price
		}
		p := &prices[i]
		p.Price, p.At = max(1, cents(p.Price*(1+(rand.Float64()-0.497)*0.006))), time.Now().UnixMilli()
		data, _ := json.Marshal(p) // numbers and text always can be
		if _, err := hub.Publish(ctx, push.Event{Topic: "prices/" + symbols[i], Type: "price", Key: symbols[i], Data: data}); err != nil {
			return // the hub is shut down
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// cents rounds to two decimals.
func cents(x float64) float64 { return float64(int64(x*100+0.5)) / 100 }

const (
	longestName, longestText = 40, 500 // characters
	longestBody              = 8 << 10 // bytes
	mostSaid                 = 100     // messages that a new page gets
	// pause is the time between two messages from one address, and mostAddresses how many
	// addresses are remembered for it.
	pause         = 300 * time.Millisecond
	mostAddresses = 1000
)

// A chat takes what somebody says, publishes it, and keeps it for new pages.
type chat struct {
	hub *push.Hub

	mu    sync.Mutex
	spoke map[string]time.Time // when somebody last spoke, by address
	said  []said               // the latest messages
}

// said is a message with the ID of its event, by which a page knows what it has already.
type said struct {
	ID      string  `json:"id"`
	Message message `json:"message"`
}

// A message is the content of an event of topic chat.
type message struct {
	Name string `json:"name"`
	Text string `json:"text"`
	At   int64  `json:"at"` // milliseconds since 1970
}

// list answers with the latest messages. A page that asks when it is subscribed misses nothing.
func (c *chat) list(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	data, _ := json.Marshal(c.said) // text always can be
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(data)
}

// say takes a message.
func (c *chat) say(w http.ResponseWriter, r *http.Request) {
	var m message
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(&m)
	m.Name, m.Text, m.At = strings.TrimSpace(m.Name), strings.TrimSpace(m.Text), time.Now().UnixMilli()
	switch {
	case err != nil:
		http.Error(w, `say {"name": "...", "text": "..."}`, http.StatusBadRequest)
		return
	case m.Name == "" || m.Text == "" || utf8.RuneCountInString(m.Name) > longestName || utf8.RuneCountInString(m.Text) > longestText:
		http.Error(w, fmt.Sprintf("a name has 1 to %d characters, and a text 1 to %d", longestName, longestText), http.StatusBadRequest)
		return
	case !c.may(r.RemoteAddr):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "slow down: three messages a second", http.StatusTooManyRequests)
		return
	}
	if err := c.publish(r.Context(), m); err != nil {
		http.Error(w, "the server is shutting down: try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// publish sends a message to all who listen, and keeps it: under the lock, so that each page
// gets it from one of the two.
func (c *chat) publish(ctx context.Context, m message) error {
	data, _ := json.Marshal(m) // text always can be
	c.mu.Lock()
	defer c.mu.Unlock()
	receipt, err := c.hub.Publish(ctx, push.Event{Topic: "chat", Type: "message", Data: data})
	if err != nil {
		return err
	}
	if len(c.said) == mostSaid {
		c.said = slices.Delete(c.said, 0, 1)
	}
	c.said = append(c.said, said{receipt.ID, m})
	return nil
}

// may reports whether somebody at an address may speak now.
func (c *chat) may(remote string) bool {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.spoke[address]) < pause {
		return false
	}
	if len(c.spoke) >= mostAddresses {
		clear(c.spoke)
	}
	c.spoke[address] = now
	return true
}
