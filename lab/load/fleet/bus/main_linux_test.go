package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/request"
	"github.com/redline-go/redline/lab/load/spec"
)

// partEnv in its environment makes the test binary a part of the proof: the
// stage, with server, NATS and coordinator, or one of its workers.
const partEnv = "REDLINE_TEST_PART"

func TestMain(m *testing.M) {
	var err error
	switch part := os.Getenv(partEnv); part {
	case "":
		os.Exit(m.Run())
	case "stage":
		err = stage()
	case "worker":
		err = work()
	default:
		err = fmt.Errorf("no part %q", part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ip runs iproute2's command in the network namespace of this process.
func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// call is the line that a worker gets on its standard input once the other end
// of its network stands.
type call struct {
	Address Address
	Index   int
	Device  string // empty: there is nothing but the host's loopback
	Net     string // its address, with the length of the prefix
}

// work is a worker: it ends at the end of its standard input at the latest.
func work() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var c call
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	go func() {
		// Nothing more comes but the end, of which any error is one.
		_, _ = in.ReadByte()
		cancel()
	}()
	if c.Device != "" {
		for _, args := range []string{"addr add " + c.Net + " dev " + c.Device, "link set " + c.Device + " up"} {
			if err := ip(args); err != nil {
				return err
			}
		}
	}
	id := NewID()
	conn, err := Worker(ctx, c.Address, id)
	if err != nil {
		return err
	}
	w := fleet.Worker{ID: id, Index: c.Index, Generate: generate, Silence: patience}
	err = w.Work(ctx, conn)
	_ = conn.Close() // there is nothing more to send
	return err
}

// generate is the real generator behind the fleet's interface.
func generate(ctx context.Context, order json.RawMessage, emit func(json.RawMessage)) error {
	var s spec.Spec
	if err := json.Unmarshal(order, &s); err != nil {
		return err
	}
	return request.Run(ctx, &s, func(e spec.Event) {
		b, err := json.Marshal(e)
		if err != nil {
			b = []byte(fmt.Sprintf(`{"error":%q}`, err))
		}
		emit(b)
	})
}

// scene is what the stage reports to the test.
type scene struct {
	Outcome    *fleet.Outcome
	Served     []uint64 // requests that the server saw of each worker
	Namespaces []string // network namespaces of the workers
	PIDs       []int
	Killed     time.Duration // after the agreed start, when the killer struck
}
