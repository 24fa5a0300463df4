package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/redline-go/redline/peers/internal/subject"
)

// Key is what GET /redis reads.
const Key = "redline"

// MaxWait bounds what GET /wait asks the backend for.
const MaxWait = time.Second

// A ParamError is a parameter of a request that is out of bounds.
type ParamError struct{ Name, Want string }

func (e *ParamError) Error() string { return e.Name + " is not " + e.Want }

// Status is the status of an answer after a backend's call returned err: 400 for a
// parameter, 503 without that backend, 502 if it failed.
func Status(err error) int {
	var param *ParamError
	switch {
	case errors.As(err, &param):
		return http.StatusBadRequest
	case errors.Is(err, ErrNone):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

// ErrNone is the error of a service that was started without the backend it asks.
var ErrNone = errors.New("this service was started without that backend")

// Backends are the clients of one service. They are safe for concurrent use.
type Backends struct {
	redis    *redis.Client // nil: there is none
	postgres *pgxpool.Pool // nil: there is none
	wait     *pool         // nil: there is none
	fan      *http.Client  // nil: there is none
}

// Open creates the clients for the sockets that the command line named. Connections are
// opened on demand; they end with the process.
func Open() *Backends {
	b := &Backends{}
	sockets := subject.BackendSockets()
	if sockets.Redis != "" {
		// All other settings are go-redis' defaults.
		b.redis = redis.NewClient(&redis.Options{Network: "unix", Addr: sockets.Redis})
	}
	if sockets.Wait != "" {
		b.wait = newPool(sockets.Wait)
	}
	if sockets.Postgres != "" {
		b.postgres = newPostgres(sockets.Postgres)
	}
	if sockets.Fanout != "" {
		b.fan = newFan(sockets.Fanout)
	}
	return b
}

// Redis gets the value of [Key].
func (b *Backends) Redis(ctx context.Context) (string, error) {
	if b.redis == nil {
		return "", ErrNone
	}
	return b.redis.Get(ctx, Key).Result()
}

// Wait makes the backend wait, and returns when it has answered. The time has the format of
// [time.ParseDuration], at most [MaxWait].
func (b *Backends) Wait(text string) error {
	d, err := parseWait(text)
	if err != nil {
		return err
	}
	if b.wait == nil {
		return ErrNone
	}
	return b.wait.ask(d)
}

// parseWait reads what the parameter wait says.
func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > MaxWait {
		return 0, &ParamError{"wait", fmt.Sprintf("a duration of 0 to %v", MaxWait)}
	}
	return d, nil
}
