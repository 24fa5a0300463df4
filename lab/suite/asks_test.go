package suite

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/backend"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
)

// askRedis returns what the subject "asks" reads from Redis, or the error's text.
func askRedis(socket string) string {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s\r\n", redisKey)
	in := bufio.NewReader(conn)
	var size int
	if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
		return err.Error()
	}
	value := make([]byte, size)
	if _, err := io.ReadFull(in, value); err != nil {
		return err.Error()
	}
	return string(value)
}

// askWait queries the waiting backend. The response times show errors.
func askWait(socket, text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write(binary.LittleEndian.AppendUint64(nil, uint64(d)))
	io.ReadFull(conn, make([]byte, 8))
}

// askFanout returns the joined responses of the backend for the subject "asks", or the
// error's text.
func askFanout(socket, wait string) (joined string) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	for n := range backend.Parts {
		resp, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("http://backend/part?n=%d&wait=%s", n+1, wait))
		if err != nil {
			return err.Error()
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return err.Error()
		}
		joined += string(text)
	}
	return joined
}

// serveSizes answers the requests of the workloads of sizes.
func serveSizes(w http.ResponseWriter, r *http.Request, flaw string) {
	if r.URL.Path == "/order" {
		var order struct{ Items []orderItem }
		json.NewDecoder(r.Body).Decode(&order)
		total := 0
		for _, i := range order.Items {
			total += i.Quantity * i.Price
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"items":%d,"total":%d}`, len(order.Items), total)
		return
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("size"))
	body := patternOf(size)
	switch flaw {
	case "wrong-byte":
		body[size/2] = '!'
	case "long":
		body = append(body, '0')
	}
	w.Header().Set("Content-Type", octetStream)
	w.Write(body)
}

// benchBackends starts the backends as a comparison does, prints their process numbers,
// and waits until it is killed.
func benchBackends() int {
	if err := holdBackends(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func holdBackends() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := guard.Start(exe)
	if err != nil {
		return err
	}
	cpus, err := probe.Allowed()
	if err != nil {
		return err
	}
	b := &bench{
		cfg: Config{Executable: exe, GeneratorCPUs: cpus[:1]}, guard: g, launcher: spawn.NewLauncher(), file: &results.File{},
		loads: []*workload{findWorkload("redis"), findWorkload("wait-1ms"), findWorkload("fanout")},
	}
	if hasPostgres() == nil {
		b.loads = append(b.loads, findWorkload("postgres"))
	}
	if b.tmp, err = openDir("", "redline-bench-"); err != nil {
		return err
	}
	if _, err := g.RemoveAll(b.tmp); err != nil {
		return err
	}
	if err := b.startBackends(context.Background()); err != nil {
		return err
	}
	var pids []int
	for _, s := range b.services {
		pids = append(pids, s.cmd.Process.Pid)
	}
	if err := json.NewEncoder(os.Stdout).Encode(pids); err != nil {
		return err
	}
	select {}
}
