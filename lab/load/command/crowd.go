package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
)

// crowdFlags define what subscribers do besides listening, and what is published to them.
type crowdFlags struct {
	websocket          bool
	greetings          []string
	topics             int
	churn, slow        string
	publish, rate      string
	size               string
	headers            []string
	publishConnections int
}

// crowdNames lists the flags that need subscribers, and publishNames those that need --publish.
var (
	crowdNames   = []string{"websocket-send", "topics", "churn", "slow-subscribers", "publish"}
	publishNames = []string{"publish-rate", "publish-size", "publish-header", "publish-connections"}
)

func (l *crowdFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&l.websocket, "websocket", false, "each connection is a subscriber on a WebSocket, whose messages are the records")
	f.StringArrayVar(&l.greetings, "websocket-send", nil, "text `MESSAGE` that each sends first, such as a command to subscribe; may be repeated")
	f.IntVar(&l.topics, "topics", 1, "topics among which the subscribers are divided: "+spec.TopicMark+" in a URL or in --websocket-send is replaced by 0, 1, ...")
	f.StringVar(&l.churn, "churn", "", "`RATE` of subscribers that leave, and join again as new ones, written as --rate")
	f.StringVar(&l.slow, "slow-subscribers", "", "`SHARE[:RATE]` of the subscribers that hardly read, as 10%:1KiB, or 0.1% for ones that read nothing; their figures are apart")
	f.StringVar(&l.publish, "publish", "", "`URL` to which events are published by POST; each subscriber has to receive each once and in order")
	f.StringVar(&l.rate, "publish-rate", "1", "`RATE` of the events, of all topics together, written as --rate")
	f.StringVar(&l.size, "publish-size", "64", "`SIZE` of an event, a JSON object with its time (ts) and number (seq)")
	f.StringArrayVar(&l.headers, "publish-header", nil, "`'NAME: VALUE'` to send with each event; may be repeated")
	f.IntVar(&l.publishConnections, "publish-connections", 16, "maximum of connections that publish; those of one topic are published on one")
}

// check rejects flags without what they need; flag is the one that asks for subscribers.
func (l *crowdFlags) check(changed func(string) bool, flag string, publishes bool) error {
	for _, of := range crowdNames {
		if changed(of) && flag == "" {
			return fmt.Errorf("--%s is for subscribers: add --sse, --ndjson, --length-delimited or --websocket", of)
		}
	}
	for _, of := range publishNames {
		if changed(of) && !publishes {
			return fmt.Errorf("--%s is for events that are published: add --publish URL", of)
		}
	}
	if len(l.greetings) > 0 && !l.websocket {
		return errors.New("--websocket-send is for WebSockets: add --websocket")
	}
	return nil
}

// webSocketKey is the Sec-WebSocket-Key of all requests: no server remembers it.
var webSocketKey = base64.StdEncoding.EncodeToString([]byte("redline-load-key"))

// upgradeFields are the header fields of a subscriber on a WebSocket.
func upgradeFields() string {
	return "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + webSocketKey + "\r\n"
}

// marked returns a request in which the mark of the topic is as the generator expects it: in
// paths a URL has it escaped.
func marked(wire []byte) []byte {
	return bytes.ReplaceAll(wire, []byte("%7Btopic%7D"), []byte(spec.TopicMark))
}

// firstTopic returns a request for the first topic.
func firstTopic(wire []byte) []byte {
	return bytes.ReplaceAll(wire, []byte(spec.TopicMark), []byte("0"))
}

// planCrowd adds what the flags define to the subscribers' configuration.
func (p *plan) planCrowd(c *spec.Subscribe, changed func(string) bool) (err error) {
	l := &p.flags.streams.crowd
	overTLS := p.request.url.Scheme == "https"
	switch {
	case l.topics < 1:
		return fmt.Errorf("--topics %d: want at least 1", l.topics)
	case l.topics > 1 && p.protocol.HTTP2:
		return errors.New("--topics: subscribers on HTTP/2 all send one request; leave out --http2")
	case l.websocket && p.protocol.HTTP2:
		return errors.New("--websocket: WebSockets use HTTP/1.1; leave out --http2")
	case l.slow != "" && (overTLS || p.protocol.HTTP2):
		return errors.New("--slow-subscribers use HTTP/1.1 in clear text; load an http:// URL without --http2")
	}
	c.Topics = l.topics
	if l.websocket {
		c.WebSocket = &spec.WebSocket{Key: webSocketKey, Send: l.greetings}
	}
	if l.churn != "" {
		if c.Churn, err = arrive.ParseRate(l.churn); err != nil {
			return fmt.Errorf("--churn %s: %w", l.churn, err)
		}
	}
	if l.slow != "" {
		if c.Slow, err = parseSlow(l.slow); err != nil {
			return fmt.Errorf("--slow-subscribers %s: %w", l.slow, err)
		}
	}
	if l.publish == "" {
		return nil
	}
	if p.flags.streams.stamp == "" {
		c.Stamp = "ts"
	}
	if p.flags.streams.ids == "" {
		c.ID = "seq"
	}
	c.Publish, err = p.planPublish()
	return err
}

// parseSlow parses a share of the subscribers and the bytes a second that they read.
func parseSlow(text string) (*spec.SlowRead, error) {
	share, rate, limited := strings.Cut(text, ":")
	bare, percent := strings.CutSuffix(share, "%")
	v, err := strconv.ParseFloat(bare, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return nil, errors.New("write a share of the subscribers, as 10% or 0.001, and perhaps the bytes a second that each reads, as 10%:1KiB")
	}
	s := &spec.SlowRead{Share: v}
	if limited {
		if s.Rate, err = scenario.ParseSize(strings.TrimSuffix(rate, "/s")); err != nil || s.Rate == 0 {
			return nil, fmt.Errorf("%q: write the bytes a second that each reads as 4096 or 1KiB; without them they read nothing", rate)
		}
	}
	return s, nil
}

// planPublish makes the publishers' part of the plan.
func (p *plan) planPublish() (*spec.Publish, error) {
	l := &p.flags.streams.crowd
	u, err := parseURL(l.publish)
	if err != nil {
		return nil, fmt.Errorf("--publish: %w", err)
	}
	w := &spec.Publish{Connections: l.publishConnections}
	if w.Rate, err = arrive.ParseRate(l.rate); err != nil || w.Rate == 0 {
		return nil, fmt.Errorf("--publish-rate %s: write events a second, as 10 or 600/m", l.rate)
	}
	size, err := scenario.ParseSize(l.size)
	if err != nil {
		return nil, fmt.Errorf("--publish-size %s: write bytes as 64, 1KiB or 1MB", l.size)
	}
	w.Size = int(min(size, 1<<30))
	if l.publishConnections < 1 {
		return nil, fmt.Errorf("--publish-connections %d: want at least 1", l.publishConnections)
	}
	fields, more := "Content-Type: application/json\r\n", ""
	for _, h := range l.headers {
		name, value, err := headerField(h)
		if err != nil {
			return nil, fmt.Errorf("--publish-header: %w", err)
		}
		if strings.EqualFold(name, "content-type") {
			fields = ""
		}
		more += name + ": " + value + "\r\n"
	}
	w.Head = marked(fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: redline\r\n%s%s", u.RequestURI(), u.Host, fields, more))
	if u.Scheme == "https" {
		if w.TLS, err = p.tlsOf(u); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// publishAddr returns the numeric address of --publish, which answers; empty without it.
func (p *plan) publishAddr(ctx context.Context) (string, error) {
	if p.subscribers == nil || p.subscribers.Publish == nil {
		return "", nil
	}
	u, err := parseURL(p.flags.streams.crowd.publish)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, max(p.flags.timeout, time.Second))
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return "", fmt.Errorf("--publish: %w", err)
	}
	addr := conn.RemoteAddr().String()
	return addr, conn.Close()
}
