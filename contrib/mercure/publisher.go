package mercure

import (
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
)

// claims are those of a token (Authorization).
type claims struct {
	jwt.RegisteredClaims
	Mercure struct {
		Publish   []string `json:"publish"`
		Subscribe []string `json:"subscribe"`
		Payload   any      `json:"payload"`
	} `json:"mercure"`
}

// servePublisher publishes an update (Publication).
func (e *Endpoint) servePublisher(w http.ResponseWriter, r *http.Request) error {
	var c claims
	if err := e.publishers.Verify(r, &c); err != nil {
		return err
	}
	if err := e.publishers.Safe(r); err != nil {
		return err
	}
	granted, err := newSelectors(c.Mercure.Publish)
	if err != nil {
		return push.ErrUnauthorized
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return refusal{http.StatusUnsupportedMediaType, "send the update as application/x-www-form-urlencoded"}
	}
	// Each byte of data may be three of the form.
	r.Body = http.MaxBytesReader(w, r.Body, int64(3*e.o.MaxData+3*maxTopics*maxTopicBytes))
	if err := r.ParseForm(); err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return push.ErrTooLarge
		}
		return refusal{http.StatusBadRequest, "the form cannot be read: encode it as application/x-www-form-urlencoded"}
	}
	u, err := parseUpdate(r.PostForm)
	if err != nil {
		return err
	}
	for _, t := range u.Topics {
		if !matchAny(granted, t) || reserved(t) {
			return pushjwt.ErrForbidden
		}
	}
	id, err := e.Publish(r.Context(), u)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, id)
	return nil
}

func parseUpdate(form url.Values) (u Update, err error) {
	u = Update{Topics: form["topic"], Data: form.Get("data"), Private: form.Has("private"), ID: form.Get("id"), Type: form.Get("type")}
	for _, s := range []string{u.Data, u.ID, u.Type} {
		if !utf8.ValidString(s) {
			return u, refusal{http.StatusBadRequest, "the fields must be UTF-8"}
		}
	}
	if text := form.Get("retry"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return u, refusal{http.StatusBadRequest, "retry is a number of milliseconds, in digits alone"}
		}
		u.Retry = time.Duration(ms) * time.Millisecond
	}
	return u, u.check()
}

// reserved reports whether a topic is one of those that the endpoint itself publishes to, or a reader
// of URLs could take it for one, so that nobody can forge the events of subscriptions. Readers resolve
// dots, and read a backslash as a slash (URL Standard, 4.4).
func reserved(topic string) bool {
	if i := strings.IndexAny(topic, "?#"); i >= 0 {
		topic = topic[:i]
	}
	plain := escape.ReplaceAllStringFunc(topic, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
	resolved := path.Clean("/" + strings.TrimSpace(strings.ReplaceAll(plain, `\`, "/")))
	return strings.Contains(resolved+"/", Path+"/")
}

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")
