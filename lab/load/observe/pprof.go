package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/probe"
)

const (
	pprofTimeout = 15 * time.Second // of one page
	varsEvery    = time.Second
	heapEvery    = 5 * time.Second // heap?debug=1 is hundreds of stacks as text
	indexLimit   = 1 << 20         // limit on a page, in bytes
	statsLimit   = 64 << 20
)

// goroutines finds the number of goroutines on the index page of net/http/pprof, which
// counts them without inspecting any.
var goroutines = regexp.MustCompile(`<td>(\d+)</td>\s*<td><a href=['"]?[^'">]*goroutine\?debug=1['"]?>goroutine</a>`)

// PProf reads the pages of net/http/pprof, and those of expvar if available.
type PProf struct {
	base   string // without a slash at its end
	stats  string // page with runtime.MemStats
	vars   bool   // the page is expvar's
	client *http.Client
	pauses pauses
}

// ParseBase parses the value of --pprof: the path defaults to /debug/pprof.
func ParseBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("%q is no URL: write one such as http://127.0.0.1:6060/debug/pprof", text)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q: remove what follows the path: %s://%s%s", text, u.Scheme, u.Host, u.Path)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/debug/pprof"
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}

// OpenPProf makes one query. base is a result of [ParseBase]. If the pages are elsewhere,
// or incomplete, the error says what is expected.
func OpenPProf(ctx context.Context, base string) (*PProf, error) {
	p := &PProf{base: base, client: &http.Client{Transport: &http.Transport{MaxIdleConns: 1, DisableCompression: true}}}
	// expvar is next to it in a program that links both packages.
	if parent, ok := strings.CutSuffix(base, "/pprof"); ok {
		p.stats, p.vars = parent+"/vars", true
		if _, err := p.Snapshot(ctx); err == nil {
			return p, nil
		}
	}
	p.stats, p.vars = base+"/heap?debug=1", false
	if _, err := p.Snapshot(ctx); err != nil {
		return nil, fmt.Errorf("%w; the handlers of net/http/pprof are expected there, such as http://127.0.0.1:6060/debug/pprof", err)
	}
	return p, nil
}

// Name returns pprof.
func (p *PProf) Name() string { return "pprof" }

// Every returns the interval for the page in use.
func (p *PProf) Every() time.Duration {
	if p.vars {
		return varsEvery
	}
	return heapEvery
}

// Snapshot reads the index, for the number of goroutines, and the page with the memory
// statistics.
func (p *PProf) Snapshot(ctx context.Context) (s probe.Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, pprofTimeout)
	defer cancel()
	err = p.get(ctx, p.base+"/", indexLimit, func(r io.Reader) error {
		page, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		found := goroutines.FindSubmatch(page)
		if found == nil {
			return fmt.Errorf("this is no index of net/http/pprof: it has no number of goroutines")
		}
		s.Goroutines, err = strconv.Atoi(string(found[1]))
		return err
	})
	if err != nil {
		return s, err
	}
	var m memStats
	err = p.get(ctx, p.stats, statsLimit, func(r io.Reader) (err error) {
		if p.vars {
			m, err = parseVars(r)
		} else {
			m, err = parseHeap(r)
		}
		return err
	})
	if err != nil {
		return s, err
	}
	s.Schema, s.HeapBytes, s.AllocObjects, s.AllocBytes, s.GCCycles = probe.Schema, m.HeapAlloc, m.Mallocs, m.TotalAlloc, m.NumGC
	s.Pauses = p.pauses.add(m)
	return s, nil
}

// get passes a page's content to read.
func (p *PProf) get(ctx context.Context, page string, limit int64, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	answer, err := p.client.Do(req)
	if err != nil {
		return err // it includes method and URL
	}
	body := io.LimitReader(answer.Body, limit)
	if err = nil; answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	} else {
		err = read(body)
	}
	// The rest is read so that the connection can be reused.
	_, _ = io.Copy(io.Discard, body)
	if closed := answer.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", page, err)
	}
	return nil
}

// Close closes the connection.
func (p *PProf) Close() error {
	p.client.CloseIdleConnections()
	return nil
}
