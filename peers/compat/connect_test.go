package compat_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The messages of the service, so that no code has to be generated.
type (
	text   = wrapperspb.StringValue
	number = wrapperspb.Int64Value
)

// TestConnect calls procedures of connectrpc over HTTP/1.1: unary ones, and those
// that stream from the server and to it, in the protocols that HTTP/1.1 carries.
func TestConnect(t *testing.T) {
	protocols := map[string][]connect.ClientOption{
		"connect":      {},
		"connect-json": {connect.WithProtoJSON()},
		"connect-gzip": {connect.WithSendGzip(), connect.WithHTTPGet(), connect.WithHTTPGetMaxURLSize(4096, true)},
		"grpc-web":     {connect.WithGRPCWeb()},
	}
	for _, name := range []string{"connect", "connect-json", "connect-gzip", "grpc-web"} {
		t.Run(name, func(t *testing.T) {
			compare(t, func(t *testing.T, c carrier, r *report) {
				seen := make(chan struct{})
				s := c.start(t, rpcService(r, seen))
				playUnary(t, r, s, protocols[name])
				playServerStream(t, r, s, seen, protocols[name])
				playClientStream(t, r, s, protocols[name])
			})
		})
	}
}

// rpcService is the service. Its counting goes on when seen says that the client
// has seen the last number.
func rpcService(r *report, seen <-chan struct{}) http.Handler {
	m := http.NewServeMux()
	m.Handle("/rpc/greet", connect.NewUnaryHandler("/rpc/greet", func(_ context.Context, q *connect.Request[text]) (*connect.Response[text], error) {
		r.add("%s %s for %.20s of %q", q.HTTPMethod(), q.Peer().Protocol, q.Msg.Value, q.Header()["X-Meta"])
		if q.Msg.Value == "nobody" {
			err := connect.NewError(connect.CodeNotFound, errors.New("nobody is here"))
			err.Meta().Set("X-Why", "gone")
			if detail, derr := connect.NewErrorDetail(structpb.NewBoolValue(true)); derr == nil {
				err.AddDetail(detail)
			}
			return nil, err
		}
		a := connect.NewResponse(&text{Value: "hello " + q.Msg.Value})
		a.Header().Set("X-Leading", "1")
		a.Trailer().Set("X-Trailing", "2")
		return a, nil
	}, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	m.Handle("/rpc/count", connect.NewServerStreamHandler("/rpc/count", func(ctx context.Context, q *connect.Request[number], out *connect.ServerStream[number]) error {
		out.ResponseHeader().Set("X-Leading", "1")
		out.ResponseTrailer().Set("X-Trailing", "2")
		for i := range q.Msg.Value {
			if err := out.Send(&number{Value: i}); err != nil {
				return err
			}
			select {
			case <-seen:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return connect.NewError(connect.CodeOutOfRange, errors.New("no more numbers"))
	}))
	m.Handle("/rpc/sum", connect.NewClientStreamHandler("/rpc/sum", func(_ context.Context, in *connect.ClientStream[number]) (*connect.Response[number], error) {
		sum := int64(0)
		for in.Receive() {
			sum += in.Msg().Value
		}
		return connect.NewResponse(&number{Value: sum}), in.Err()
	}))
	return m
}

func playUnary(t *testing.T, r *report, s *service, options []connect.ClientOption) {
	client := connect.NewClient[text, text](s.client, s.url+"/rpc/greet", append(options, connect.WithIdempotency(connect.IdempotencyNoSideEffects))...)
	for _, name := range []string{"ada", "nobody", strings.Repeat("long ", 200_000)} {
		q := connect.NewRequest(&text{Value: name})
		q.Header().Set("X-Meta", "m")
		a, err := client.CallUnary(t.Context(), q)
		r.add("greet %.20s: %s", name, rpcError(err))
		if err == nil {
			r.add("  %s", brief([]byte(a.Msg.Value)))
			r.header("  ", a.Header())
			r.header("  trailer ", a.Trailer())
		}
	}
}

// playServerStream takes numbers, each sent when the one before was seen.
func playServerStream(t *testing.T, r *report, s *service, seen chan<- struct{}, options []connect.ClientOption) {
	client := connect.NewClient[number, number](s.client, s.url+"/rpc/count", options...)
	stream, err := client.CallServerStream(t.Context(), connect.NewRequest(&number{Value: 5}))
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
		r.add("number %d", stream.Msg().Value)
		seen <- struct{}{}
	}
	r.add("count: %s", rpcError(stream.Err()))
	r.header("  ", stream.ResponseHeader())
	r.header("  trailer ", stream.ResponseTrailer())
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
}

func playClientStream(t *testing.T, r *report, s *service, options []connect.ClientOption) {
	stream := connect.NewClient[number, number](s.client, s.url+"/rpc/sum", options...).CallClientStream(t.Context())
	for i := range int64(100) {
		if err := stream.Send(&number{Value: i}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := stream.CloseAndReceive()
	r.add("sum: %s", rpcError(err))
	if err == nil {
		r.add("  %d", a.Msg.Value)
	}
}

// rpcError is an error of a call with all that came with it.
func rpcError(err error) string {
	failed := new(connect.Error)
	if !errors.As(err, &failed) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%v (%v), why %q, %d details", failed, failed.Code(), failed.Meta()["X-Why"], len(failed.Details()))
}
