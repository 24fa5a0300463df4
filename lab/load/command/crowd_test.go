package command

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/spec"
)

// planOf resolves a command line for a URL.
func planOf(url string, args ...string) (*plan, error) {
	var flags Flags
	set := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.Bind(set)
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	return flags.resolve(url, set.Changed)
}

func TestPlanCrowd(t *testing.T) {
	p, err := planOf("http://127.0.0.1:1/events/{topic}?x={topic}", "--sse", "--topics=7", "--churn=60/m", "--slow-subscribers=25%:2KiB",
		"--publish=http://127.0.0.1:2/publish/{topic}", "--publish-rate=600/m", "--publish-size=1KiB", "--publish-header=Authorization: Bearer x")
	if err != nil {
		t.Fatal(err)
	}
	c := p.subscribers
	if c.Topics != 7 || c.Churn != 1 || *c.Slow != (spec.SlowRead{Share: 0.25, Rate: 2048}) || c.Stamp != "ts" || c.ID != "seq" {
		t.Errorf("%+v", c)
	}
	if w := c.Publish; w.Rate != 10 || w.Size != 1024 || w.TLS != nil ||
		!strings.HasPrefix(string(w.Head), "POST /publish/{topic} HTTP/1.1\r\nHost: 127.0.0.1:2\r\n") || !strings.Contains(string(w.Head), "\r\nAuthorization: Bearer x\r\n") {
		t.Errorf("%+v, %q", w, w.Head)
	}
	if !strings.HasPrefix(string(p.request.wire), "GET /events/{topic}?x={topic} HTTP/1.1\r\n") || !strings.HasPrefix(string(firstTopic(p.request.wire)), "GET /events/0?x=0 ") {
		t.Errorf("request %q", p.request.wire)
	}

	p, err = planOf("http://127.0.0.1:1/ws", "--websocket", "--websocket-send=a", "--websocket-send=b", "--stamp=at:ms")
	if err != nil {
		t.Fatal(err)
	}
	if c := p.subscribers; c.Format != spec.FormatMessage || c.WebSocket == nil || len(c.WebSocket.Send) != 2 || c.Stamp != "at" || c.ID != "" ||
		!strings.Contains(string(p.request.wire), "\r\nSec-WebSocket-Key: "+c.WebSocket.Key+"\r\n") {
		t.Errorf("%+v, %q", c, p.request.wire)
	}
}

// The errors of flags say what to write.
func TestPlanCrowdErrors(t *testing.T) {
	const in, over = "http://127.0.0.1:1/", "https://127.0.0.1:1/"
	for _, test := range []struct {
		url, args, want string
	}{
		{in, "--topics=2", "add --sse"},
		{in, "--publish=http://127.0.0.1:1/", "add --sse"},
		{in, "--sse --publish-rate=1", "add --publish URL"},
		{in, "--sse --websocket", "write the one that fits"},
		{in, "--sse --websocket-send=x", "add --websocket"},
		{in, "--sse --topics=0", "want at least 1"},
		{in, "--sse --http2 --topics=2", "leave out --http2"},
		{in, "--websocket --http2", "leave out --http2"},
		{over, "--sse --insecure --slow-subscribers=1%", "http:// URL"},
		{in, "--sse --slow-subscribers=0", "write a share"},
		{in, "--sse --slow-subscribers=101%", "write a share"},
		{in, "--sse --slow-subscribers=10%:x", "write the bytes"},
		{in, "--sse --churn=x", "--churn x"},
		{in, "--sse --publish=nowhere", "--publish"},
		{in, "--sse --publish=http://127.0.0.1:1/ --publish-rate=0", "write events a second"},
		{in, "--sse --publish=http://127.0.0.1:1/ --publish-size=x", "write bytes"},
		{in, "--sse --publish=http://127.0.0.1:1/ --publish-connections=0", "want at least 1"},
		{in, "--sse --publish=http://127.0.0.1:1/ --publish-header=x", "--publish-header"},
		{in, "--sse --stamp=#2", "protobuf"},
	} {
		if _, err := planOf(test.url, strings.Fields(test.args)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
}
