package suite

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// variedRequests is how many different requests a varied workload has: more than any
// server would remember by chance, and few enough for the generator's cache.
const variedRequests = 61

// agents are what clients of a service call themselves.
var agents = []string{
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0",
	"Go-http-client/1.1",
	"curl/8.10.1",
	"python-requests/2.32.3",
	"okhttp/4.12.0",
	"kube-probe/1.31",
}

// varyTarget and varyFields are what the i-th of different requests asks with: an id in
// its query, which no route looks at, and the fields that proxies and tracing add. They
// are the same for every subject and in every run.
func varyTarget(i int) string { return fmt.Sprintf("?id=%d", 1+i*i*7919) }

func varyFields(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 0x7661726965640a))
	var id [24]byte
	for at := 0; at < len(id); at += 8 {
		binary.BigEndian.PutUint64(id[at:], rng.Uint64())
	}
	return fmt.Sprintf("User-Agent: %s\r\nX-Request-Id: %x-%x-%x-%x-%x\r\ntraceparent: 00-%x-%x-01\r\n",
		agents[i%len(agents)], id[:4], id[4:6], id[6:8], id[8:10], id[10:16], id[:16], id[16:])
}
