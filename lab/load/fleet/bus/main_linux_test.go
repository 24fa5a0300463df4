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

// partEnv in its environment makes the test binary a part of the test: the stage, with
// server, NATS and coordinator, or one of its workers.
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

// ip runs the command of iproute2 in the network namespace of this process.
func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// call is the line that a worker reads from its standard input when the other end of its
// network is ready.
type call struct {
	Address Address
	Index   int
	Device  string // empty: use the host's loopback
	Net     string // its address, with the length of the prefix
}

// work runs a worker, which ends at the end of its standard input at the latest.
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
		// Only the end of the input follows; an error counts as the end.
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
	_ = conn.Close() // nothing is unsent
	return err
}

// generate adapts the real generator to the fleet's interface.
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
	Served     []uint64 // requests that the server received from each worker
	Namespaces []string // network namespaces of the workers
	PIDs       []int
	Killed     time.Duration // time of the kill after the agreed start
}
