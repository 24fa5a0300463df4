package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// HAROptions are choices for recordings of browsers.
type HAROptions struct {
	NoAssets  bool // leave out images, fonts, style sheets, scripts and media
	NoCookies bool // leave out the cookies that the browser sent
	NoThink   bool // leave out the pauses of the recording
}

// The part of a HAR file that describes requests.
type (
	harFile struct {
		Log *struct {
			Entries []harEntry `json:"entries"`
		} `json:"log"`
	}
	harEntry struct {
		Started   string      `json:"startedDateTime"`
		Time      float64     `json:"time"` // milliseconds; negative if unknown
		Request   harRequest  `json:"request"`
		Response  harResponse `json:"response"`
		Type      string      `json:"_resourceType"`
		FromCache string      `json:"_fromCache"`
		start     time.Time
		index     int
	}
	harRequest struct {
		Method  string    `json:"method"`
		URL     string    `json:"url"`
		Headers []harPair `json:"headers"`
		Post    *harPost  `json:"postData"`
	}
	harResponse struct {
		Status  int `json:"status"`
		Content struct {
			Type string `json:"mimeType"`
		} `json:"content"`
	}
	harPost struct {
		Type   string    `json:"mimeType"`
		Text   string    `json:"text"`
		Params []harPair `json:"params"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// HAR reads a recording of a browser (HTTP Archive 1.2). The requests are the steps of a flow,
// in the order of their start. name is that of the source in errors.
func HAR(name string, source []byte, o HAROptions) (*Scenario, error) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	var file harFile
	if err := json.Unmarshal(source, &file); err != nil {
		line := 0
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = lineOf(source, bad.Offset)
		}
		if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			line = lineOf(source, bad.Offset)
		}
		return nil, flaw(name, line, "save the recording again: Save all as HAR in the browser's developer tools", "this is not a HAR file: %v", err)
	}
	if file.Log == nil {
		return nil, flaw(name, 0, "save the recording of a browser: Save all as HAR in its developer tools", "this is not a HAR file: it has no log")
	}
	s := &Scenario{Flow: "recording"}
	entries, err := s.ordered(name, file.Log.Entries)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		if why := e.unsent(o); why != "" {
			s.note("%s", why)
			continue
		}
		r, err := s.entry(fmt.Sprintf("%s: log.entries[%d]", name, e.index), e, o)
		if err != nil {
			return nil, err
		}
		if !o.NoThink {
			r.sent = e.start
			r.done = e.start.Add(time.Duration(min(max(e.Time, 0), 86_400_000) * float64(time.Millisecond)))
		}
		if err := s.add(name, r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ordered returns the entries in the order in which they started.
func (s *Scenario) ordered(name string, entries []harEntry) ([]harEntry, error) {
	for i := range entries {
		e := &entries[i]
		e.index = i
		var err error
		if e.start, err = time.Parse(time.RFC3339Nano, e.Started); err != nil && e.Started != "" {
			return nil, flaw(fmt.Sprintf("%s: log.entries[%d]", name, i), 0, "write a time such as 2026-01-31T12:00:00.000Z, or leave it out", "startedDateTime %.60q", e.Started)
		}
	}
	if !slices.ContainsFunc(entries, func(e harEntry) bool { return e.start.IsZero() }) {
		slices.SortStableFunc(entries, func(a, b harEntry) int { return a.start.Compare(b.start) })
	}
	return entries, nil
}

// unsent returns why an entry is not part of the load; empty: it is.
func (e *harEntry) unsent(o HAROptions) string {
	scheme, _, _ := strings.Cut(e.Request.URL, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "ws" || scheme == "wss" || e.Type == "websocket":
		return "WebSockets are left out"
	case scheme == "data" || scheme == "blob" || scheme == "about" || strings.HasSuffix(scheme, "-extension"):
		return "URLs that begin with " + scheme + ": are left out: no server is asked for them"
	case e.FromCache == "memory" || e.FromCache == "disk":
		return "requests that the browser's cache has answered are left out"
	case e.Response.Status <= 0:
		return "requests without an answer are left out: blocked, aborted or still running"
	case e.Response.Status == 101:
		return "WebSockets and other upgrades are left out"
	case o.NoAssets && e.asset():
		return "images, fonts, style sheets, scripts and media are left out"
	}
	return ""
}

// asset reports whether an entry requests a static part of a page.
func (e *harEntry) asset() bool {
	switch e.Type {
	case "image", "font", "stylesheet", "script", "media", "texttrack", "manifest":
		return true
	case "document", "xhr", "fetch":
		return false
	}
	kind := strings.ToLower(e.Response.Content.Type)
	for _, k := range []string{"image/", "font/", "audio/", "video/", "text/css", "text/javascript", "application/javascript", "application/x-javascript", "application/font", "application/wasm"} {
		if strings.HasPrefix(kind, k) {
			return true
		}
	}
	return false
}

// entry returns the request of an entry; where names it in errors.
func (s *Scenario) entry(where string, e *harEntry, o HAROptions) (Request, error) {
	r := Request{Method: cmp.Or(e.Request.Method, "GET"), URL: e.Request.URL}
	if r.Method == "CONNECT" {
		return r, flaw(where, 0, "remove the entry", "method CONNECT is for a proxy")
	}
	for _, h := range e.Request.Headers {
		if strings.HasPrefix(h.Name, ":") || strings.EqualFold(h.Name, "host") || o.NoCookies && strings.EqualFold(h.Name, "cookie") {
			continue
		}
		r.Header = append(r.Header, Field(h))
	}
	if p := e.Request.Post; p != nil {
		text := p.Text
		switch {
		case text == "" && strings.HasPrefix(p.Type, "multipart/"):
			s.note("the content of forms with files is left out: the browser has not recorded it")
		case text == "":
			pairs := make([]string, len(p.Params))
			for i, pair := range p.Params {
				pairs[i] = url.QueryEscape(pair.Name) + "=" + url.QueryEscape(pair.Value)
			}
			text = strings.Join(pairs, "&")
		}
		if text != "" {
			r.Body = &Body{Text: text}
			if p.Type != "" {
				r.set("Content-Type", p.Type)
			}
		}
	}
	if e.Response.Status >= 400 {
		s.note("some answers of the recording are errors; their status is what the scenario expects")
		r.Status = e.Response.Status
	}
	if r.Status > 999 {
		return r, flaw(where, 0, "write the status of the answer", "status %d", r.Status)
	}
	s.framing(&r)
	return r, s.check(where, &r)
}
