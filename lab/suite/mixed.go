package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// beside describes the slow requests of a mixed workload.
type beside struct {
	cpu  time.Duration // of one request
	rate float64       // requests per second
	path string        // set by calibrate
}

// The names of a mixed workload's targets.
const (
	quickTarget = "quick"
	slowTarget  = "slow"
)

// calibrate sets how many rounds of work a slow request of the mixed workloads takes. It
// runs once, so that every subject does the same work. A round is what peers do for
// GET /burn: the SHA-256 of the previous round.
func (b *bench) calibrate() {
	each := time.Duration(0)
	for _, w := range b.loads {
		if w.beside == nil {
			continue
		}
		if each == 0 {
			each = roundTime()
		}
		w.beside.path = fmt.Sprintf("/burn?rounds=%d", max(1, w.beside.cpu*roundUnit/each))
	}
}

// roundUnit is the number of rounds that roundTime measures.
const roundUnit = 10_000

// roundTime returns the time that roundUnit rounds take: the shortest of several tries,
// which is the least disturbed.
func roundTime() (least time.Duration) {
	var sum [sha256.Size]byte
	for range 7 {
		begin := time.Now()
		for range roundUnit {
			sum = sha256.Sum256(sum[:])
		}
		if took := time.Since(begin); least == 0 || took < least {
			least = took
		}
	}
	runtime.KeepAlive(sum)
	return max(least, 1)
}

// A target is a request of a mixed workload, with its weight.
type target struct {
	Name   string           `json:"name"`
	URL    string           `json:"url"`
	Weight float64          `json:"weight"`
	Checks []map[string]any `json:"checks"`
}

// mix makes order send different requests, chosen by their weights, if the workload has
// several.
func (b *bench) mix(order *spec.Spec, s step, srv *server) error {
	w := s.workload
	ok := []map[string]any{{"status": 200}}
	var targets []target
	switch {
	case w.beside != nil:
		targets = []target{
			{quickTarget, quickPath, quickRate, ok},
			{slowTarget, w.beside.path, w.beside.rate, ok},
		}
	case w.parts != nil:
		for _, p := range w.parts {
			body := map[string]any{"body": map[string]string{"equals": string(patternOf(p.size))}}
			targets = append(targets, target{p.name, p.path(), p.weight, append(ok[:1:1], body)})
		}
	default:
		return nil
	}
	text, err := json.Marshal(map[string]any{"base": "http://" + srv.addr + srv.prefix, "targets": targets})
	if err != nil {
		return fmt.Errorf("encode mixed requests: %w", err)
	}
	order.Request, order.Expect = nil, spec.Expect{}
	order.Scenario = &spec.Scenario{Name: "mixed.json", Text: text, Seed: b.cfg.Seed + uint64(s.block)}
	return nil
}

// fillTargets sets the run's figures of each target of a mixed workload. If there are slow
// requests, the run's latency is that of the quick ones.
func (w *watch) fillTargets(r *spec.Result) error {
	for _, t := range r.Targets {
		latency, err := results.ParseLatency(t.Histogram)
		if err != nil {
			return fmt.Errorf("latency of %s: %w", t.Name, err)
		}
		w.run.Targets = append(w.run.Targets, results.Target{
			Name: t.Name, Requests: t.Requests, Errors: t.Errors, Checks: t.Checks, Latency: latency,
		})
		if t.Name == quickTarget {
			w.run.Latency = latency
		}
	}
	return nil
}

// patternOf returns n bytes of the text that bodies consist of.
func patternOf(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n] }

// answerSizes lists the workloads with responses of one size, in bytes.
var answerSizes = map[string]int{"get1k": 1 << 10, "get16k": 16 << 10, "get256k": 256 << 10, "get10m": 10 << 20}

// orderSizes lists the workloads with JSON bodies of one size, in bytes.
var orderSizes = map[string]int{"post1k": 1 << 10, "post20k": 20 << 10}

const (
	mixName = "mix"

	// manyBytes is the response size from which manyConnections are used, which reach
	// the same throughput: with 64, a server that copies would hold 640 MB of get10m.
	manyBytes       = 1 << 20
	manyConnections = 8
)

// A part is one of several sizes of responses.
type part struct {
	name   string
	weight float64
	size   int // bytes
}

func (p *part) path() string { return sizePath(p.size) }

// partNames returns the parts' names with their sizes.
func partNames(parts []part) (names []string) {
	for _, p := range parts {
		names = append(names, fmt.Sprintf("%s (%d)", p.name, p.size))
	}
	return names
}

func sizePath(size int) string { return fmt.Sprintf("/bytes?size=%d", size) }

// pageParts is what a browser loads for a page, from the medians of the Web Almanac 2024 of the
// HTTP Archive, chapter Page Weight, for desktops in October 2024
// (https://almanac.httparchive.org/en/2024/page-weight). Weights are the median numbers of
// requests of a page ("Median number of requests by content type and device type"). Sizes
// are the median bytes of each kind on a home page ("Median homepage weight by content and
// device type"), divided by that number:
//
//	          requests      KB    bytes each
//	HTML             2      18         9,216
//	CSS              8      78         9,984
//	fonts            4     131        33,536
//	JavaScript      24     613        26,154
//	images          18   1,054        59,960
//
// The mean is 34,632 bytes. The chapter counts 71 requests in all. The 15 of other kinds are
// left out: it has no sizes for them. A median divided by a median is not a median of
// files: real sizes vary more than these.
var pageParts = []part{
	{"html", 2, 18 << 10 / 2},
	{"css", 8, 78 << 10 / 8},
	{"font", 4, 131 << 10 / 4},
	{"javascript", 24, 613 << 10 / 24},
	{"image", 18, 1054 << 10 / 18},
}

// findSize returns the workload with responses or bodies of a size; nil for other names.
func findSize(name string) *workload {
	w := plaintext()
	w.family, w.floor = familySizes, false
	if size, ok := answerSizes[name]; ok {
		w.title, w.path = "GET, "+sizeText(size)+" back", sizePath(size)
		w.answer = answer{contentType: octetStream, body: patternOf(size)}
		if size >= manyBytes {
			w.connections = manyConnections
		}
		return &w
	}
	if size, ok := orderSizes[name]; ok {
		w.title, w.method, w.path = "POST "+sizeText(size)+" of JSON, decoded into structs, a sum back", "POST", "/order"
		w.contentType = "application/json"
		w.body, w.answer.body = orderOf(size)
		w.answer.contentType, w.answer.newline = w.contentType, true
		return &w
	}
	if name != mixName {
		return nil
	}
	w.parts = slices.Clone(pageParts)
	last := w.parts[len(w.parts)-1]
	w.title = "GET of the parts of a web page: HTML, CSS, fonts, JavaScript and images of 9 to 60 kB"
	w.path, w.answer = last.path(), answer{contentType: octetStream, body: patternOf(last.size)}
	return &w
}

// sizeText prints a number of bytes, which is a multiple of KiB or MiB.
func sizeText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// An orderItem is an item of the order that is sent to /order.
type orderItem struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Quantity int      `json:"quantity"`
	Price    int      `json:"price"` // cents
	Tags     []string `json:"tags"`
}

// orderOf returns an order with size bytes of JSON, at least some hundred, and the response
// to it. Items have about 120 bytes; the customer's name takes the rest.
func orderOf(size int) (body, receipt []byte) {
	var items []orderItem
	total := 0
	encode := func(customer string) []byte {
		text, err := json.Marshal(struct {
			Customer string      `json:"customer"`
			Items    []orderItem `json:"items"`
		}{customer, items})
		if err != nil {
			panic(fmt.Sprintf("encode order: %v", err)) // strings and numbers can always be encoded
		}
		return text
	}
	for i := 1; ; i++ {
		item := orderItem{
			ID: 7919 * i, Name: fmt.Sprintf("Article number %d, in a box of its own", i), Quantity: 1 + i%5, Price: 99 + 250*i,
			Tags: []string{"new", "in stock", fmt.Sprintf("shelf %d", i%40)},
		}
		items = append(items, item)
		if len(encode("")) > size {
			items = items[:i-1]
			break
		}
		total += item.Quantity * item.Price
	}
	body = encode(strings.Repeat("x", size-len(encode(""))))
	return body, fmt.Appendf(nil, `{"items":%d,"total":%d}`, len(items), total)
}
