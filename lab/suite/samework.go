package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answerKey identifies a subject's response to a workload.
type answerKey struct{ subject, workload string }

// sameWork starts the subject, once in clear and once with TLS if workloads need both, and
// checks, byte for byte, that it answers every workload as required. The generator expects
// the same responses in every run. A subject that serves none of them is started too.
func (b *bench) sameWork(ctx context.Context, s *Subject, loads []*workload) error {
	inClear, overTLS := s.byServer(loads)
	if len(overTLS) > 0 {
		if err := b.sameWorkOn(ctx, s, overTLS, true); err != nil || len(inClear) == 0 {
			return err
		}
	}
	return b.sameWorkOn(ctx, s, inClear, strings.HasPrefix(s.URL, "https://"))
}

// sameWorkOn does the work of sameWork for workloads that one server serves.
func (b *bench) sameWorkOn(ctx context.Context, s *Subject, loads []*workload, secure bool) (err error) {
	srv, err := b.startServer(ctx, s, secure)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if srv.control != nil {
		snap, err := srv.control.Snapshot()
		if err != nil {
			return srv.fail(err)
		}
		s.Title = snap.Title
		if s.with != nil {
			s.Title += ", " + s.with.Version
		}
	}
	for _, w := range loads {
		if err := b.askAll(ctx, srv, w); err != nil {
			return srv.fail(fmt.Errorf("not the same work: %w", err))
		}
	}
	return nil
}

// askAll sends each request of a workload once and keeps the responses.
func (b *bench) askAll(ctx context.Context, srv *server, w *workload) error {
	client, err := b.client(w)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, one := range w.all() {
		body, err := ask(ctx, client, w.scheme()+"://"+srv.addr+srv.prefix, one)
		if err != nil {
			return fmt.Errorf("%s %s: %w", one.method, one.path, err)
		}
		b.answers[answerKey{srv.subject.Name, one.name}] = body
	}
	return nil
}

// all returns a workload for each request that w mixes, and w itself last.
func (w *workload) all() (all []*workload) {
	if w.beside != nil {
		slow := *w
		slow.name, slow.path = w.name+" "+slowTarget, w.beside.path
		all = append(all, &slow)
	}
	for _, p := range w.parts {
		one := *w
		one.name, one.path, one.answer.body = w.name+" "+p.name, p.path(), patternOf(p.size)
		all = append(all, &one)
	}
	return append(all, w)
}

// ask sends the workload's request and returns the body of the response. It returns an
// error if the response is not the required one.
func ask(ctx context.Context, client *http.Client, base string, w *workload) ([]byte, error) {
	if w.push != nil {
		return nil, askPush(ctx, client, base)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, w.method, base+w.path, bytes.NewReader(w.body))
	if err != nil {
		return nil, err
	}
	if w.body != nil {
		req.Header.Set("Content-Type", cmp.Or(w.contentType, octetStream))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := w.negotiated(resp); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status is %d, want 200", resp.StatusCode)
	}
	if w.stream {
		if diff := w.answer.accepts(resp.Header.Get("Content-Type"), nil); diff != "" {
			return nil, errors.New(diff)
		}
		if w.feed != nil {
			return nil, checkFeed(resp.Body, w.feed)
		}
		return nil, checkStream(resp.Body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(len(w.answer.body)+uploadBytes)))
	if err != nil {
		return nil, err
	}
	if diff := w.answer.accepts(resp.Header.Get("Content-Type"), body); diff != "" {
		return nil, errors.New(diff)
	}
	return body, nil
}

// checkStream reads three events and checks their format and age: an event that the
// server buffers arrives with the next one.
func checkStream(r io.Reader) error {
	event := make([]byte, streamEventSize)
	for i := range 3 {
		if _, err := io.ReadFull(r, event); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		var nanos int64
		if _, err := fmt.Sscanf(string(event), "data: %19d ", &nanos); err != nil || !bytes.HasSuffix(event, []byte("\n\n")) {
			return fmt.Errorf("event %d is %q, want \"data: <unix nanoseconds> ...\\n\\n\" of %d bytes", i, event, streamEventSize)
		}
		if age := time.Since(time.Unix(0, nanos)); age > streamInterval/2 && i < 2 {
			return fmt.Errorf("event %d arrived %v after it was written: the server buffers events", i, age)
		}
	}
	return nil
}
