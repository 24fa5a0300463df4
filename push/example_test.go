package push_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/topic"
)

// A hub on a server of net/http, and a client.
func Example() {
	hub, err := push.New(push.Options{})
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(hub.Handler(nil))
	defer srv.Close()
	defer hub.Close()

	resp, err := http.Get(srv.URL + "?topic=orders/*&format=ndjson")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // hub:start, with the position from which the stream begins: from here on it is live

	event := push.Event{Topic: "orders/17", ID: "e1", Data: []byte(`{"state":"paid"}`)}
	receipt, err := hub.Publish(context.Background(), event)
	if err != nil {
		panic(err)
	}
	fmt.Println("delivered to", receipt.Delivered)
	lines.Scan()
	fmt.Println(lines.Text())
	// Output:
	// delivered to 1
	// {"topic":"orders/17","id":"e1","data":{"state":"paid"}}
}

// Topics with rules of their own: of prices only the last one of each key is of use, and
// anyone who falls behind in the audit log has to read it again.
func ExampleOptions() {
	hub, err := push.New(push.Options{
		Rules: []push.Rule{
			{Pattern: "prices/**", Policy: push.Conflate, History: push.History{Events: -1}},
			{Pattern: "audit/**", Policy: push.Disconnect, History: push.History{Events: 10_000, Age: time.Hour}},
		},
		MaxDelay:    20 * time.Millisecond,
		QueueEvents: 64,
	})
	fmt.Println(hub != nil, err)
	_ = hub.Close()
	// Output: true <nil>
}

// Who may listen to what is a function of the request.
func ExampleHub_Handler() {
	hub, err := push.New(push.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	h := hub.Handler(func(r *http.Request) ([]string, error) {
		user, _, ok := r.BasicAuth()
		if !ok {
			return nil, push.ErrUnauthorized
		}
		mine, err := topic.Join("users", user) // an error for a user named "*"
		return []string{mine + "/**", "news"}, err
	})
	for _, user := range []string{"bob", "*"} {
		r := httptest.NewRequest("GET", "/?topic=users/eve/mail", nil)
		r.SetBasicAuth(user, "")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 403 you may not listen to the topic "users/eve/mail"
	// 403 you may not listen here
}
