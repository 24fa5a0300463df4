package pushjwt

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/topic"
)

// Publisher returns a handler that publishes the body of a POST to a topic, for those whose token allows
// it (see [Tokens.Publish]); topics whose rule is ReadOnly are forbidden. The query names "topic", and if they
// are wanted "type" and "key"; the header field Idempotency-Key is the event's ID. The answer is a JSON object: "id", and "duplicate" if the event
// was published before. A body may have maxBytes bytes, which the hub's own limit may undercut.
//
// Errors have one line of text: 400 for what is wrong with the event, 401 and 403 for the token, 413 for
// the body, and 503 if the event was perhaps not published: a broker may have it nevertheless. Repeated with
// the same Idempotency-Key it is published once.
func (t *Tokens) Publisher(h *push.Hub, maxBytes int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "publish with POST", http.StatusMethodNotAllowed)
			return
		}
		receipt, err := t.publish(h, w, r, maxBytes)
		if err != nil {
			refuse(w, err)
			return
		}
		answer := struct {
			ID        string `json:"id"`
			Duplicate bool   `json:"duplicate,omitempty"`
		}{receipt.ID, receipt.Duplicate}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client has left
	})
}

// publish publishes the event of a request. The token comes before the body: who may not publish sends
// nothing.
func (t *Tokens) publish(h *push.Hub, w http.ResponseWriter, r *http.Request, maxBytes int64) (push.Receipt, error) {
	q := r.URL.Query()
	e := push.Event{Topic: q.Get("topic"), Type: q.Get("type"), Key: q.Get("key"), ID: r.Header.Get("Idempotency-Key")}
	if err := t.Publish(r, e.Topic); err != nil {
		return push.Receipt{}, err
	}
	if h.Rule(e.Topic).ReadOnly {
		return push.Receipt{}, ErrForbidden
	}
	var err error
	if e.Data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes)); err != nil {
		return push.Receipt{}, err
	}
	return h.Publish(r.Context(), e)
}

func refuse(w http.ResponseWriter, err error) {
	status, text := http.StatusServiceUnavailable, "the event was perhaps not published: repeat it with the same Idempotency-Key"
	var large *http.MaxBytesError
	var name *topic.Error
	switch {
	case errors.Is(err, push.ErrUnauthorized):
		w.Header().Set("WWW-Authenticate", "Bearer")
		status, text = http.StatusUnauthorized, "send a valid token"
	case errors.Is(err, ErrForbidden):
		status, text = http.StatusForbidden, "the token does not allow to publish to this topic"
	case errors.As(err, &large), errors.Is(err, push.ErrTooLarge):
		status, text = http.StatusRequestEntityTooLarge, "the event is too large: publish a reference to the data"
	case errors.Is(err, push.ErrBadEvent), errors.As(err, &name):
		status, text = http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", ": ")
	default:
		w.Header().Set("Retry-After", "2")
	}
	http.Error(w, text, status)
}
