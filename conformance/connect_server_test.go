package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/redline-go/redline"
	pb "github.com/redline-go/redline/conformance/internal/conformancev1"
)

const service = "/connectrpc.conformance.v1.ConformanceService/"

// newConnectMux has ordinary handlers of Connect for the service of the suite.
func newConnectMux(opts ...connect.HandlerOption) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(service+"Unary", connect.NewUnaryHandler(service+"Unary", func(ctx context.Context, r *connect.Request[pb.UnaryRequest]) (*connect.Response[pb.UnaryResponse], error) {
		return answerUnary(ctx, r, r.Msg.GetResponseDefinition(), func(p *pb.ConformancePayload) *pb.UnaryResponse { return &pb.UnaryResponse{Payload: p} })
	}, opts...))
	mux.Handle(service+"IdempotentUnary", connect.NewUnaryHandler(service+"IdempotentUnary", func(ctx context.Context, r *connect.Request[pb.IdempotentUnaryRequest]) (*connect.Response[pb.IdempotentUnaryResponse], error) {
		return answerUnary(ctx, r, r.Msg.GetResponseDefinition(), func(p *pb.ConformancePayload) *pb.IdempotentUnaryResponse {
			return &pb.IdempotentUnaryResponse{Payload: p}
		})
	}, append(opts, connect.WithIdempotency(connect.IdempotencyNoSideEffects))...))
	mux.Handle(service+"Unimplemented", connect.NewUnaryHandler(service+"Unimplemented", func(context.Context, *connect.Request[pb.UnimplementedRequest]) (*connect.Response[pb.UnimplementedResponse], error) {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("not implemented"))
	}, opts...))
	mux.Handle(service+"ClientStream", connect.NewClientStreamHandler(service+"ClientStream", clientStream, opts...))
	mux.Handle(service+"ServerStream", connect.NewServerStreamHandler(service+"ServerStream", serverStream, opts...))
	mux.Handle(service+"BidiStream", connect.NewBidiStreamHandler(service+"BidiStream", bidiStream, opts...))
	return mux
}

// answerUnary answers a call with one request.
func answerUnary[Q, A any](ctx context.Context, r *connect.Request[Q], def *pb.UnaryResponseDefinition, answer func(*pb.ConformancePayload) *A) (*connect.Response[A], error) {
	info := requestInfo(ctx, r.Header(), pack(any(r.Msg).(proto.Message)))
	if query := r.Peer().Query; r.HTTPMethod() == http.MethodGet {
		info.ConnectGetInfo = &pb.ConformancePayload_ConnectGetInfo{QueryParams: headerList(query)}
	}
	payload, err := payloadOf(def, info)
	if err != nil {
		return nil, err
	}
	resp := connect.NewResponse(answer(payload))
	addHeaders(resp.Header(), def.GetResponseHeaders())
	addHeaders(resp.Trailer(), def.GetResponseTrailers())
	return resp, nil
}

func clientStream(ctx context.Context, s *connect.ClientStream[pb.ClientStreamRequest]) (*connect.Response[pb.ClientStreamResponse], error) {
	var def *pb.UnaryResponseDefinition
	var requests []*anypb.Any
	for s.Receive() {
		if requests == nil {
			def = s.Msg().GetResponseDefinition()
		}
		requests = append(requests, pack(s.Msg()))
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	payload, err := payloadOf(def, requestInfo(ctx, s.RequestHeader(), requests...))
	if err != nil {
		return nil, err
	}
	resp := connect.NewResponse(&pb.ClientStreamResponse{Payload: payload})
	addHeaders(resp.Header(), def.GetResponseHeaders())
	addHeaders(resp.Trailer(), def.GetResponseTrailers())
	return resp, nil
}

func serverStream(ctx context.Context, r *connect.Request[pb.ServerStreamRequest], s *connect.ServerStream[pb.ServerStreamResponse]) error {
	def := r.Msg.GetResponseDefinition()
	addHeaders(s.ResponseHeader(), def.GetResponseHeaders())
	addHeaders(s.ResponseTrailer(), def.GetResponseTrailers())
	if len(def.GetResponseData()) > 0 {
		if err := s.Send(nil); err != nil { // the header alone
			return err
		}
	}
	info := requestInfo(ctx, r.Header(), pack(r.Msg))
	for i, data := range def.GetResponseData() {
		payload := &pb.ConformancePayload{Data: data}
		if i == 0 {
			payload.RequestInfo = info
		}
		time.Sleep(delay(def.GetResponseDelayMs()))
		if err := s.Send(&pb.ServerStreamResponse{Payload: payload}); err != nil {
			return err
		}
	}
	return streamError(def, info)
}

func bidiStream(ctx context.Context, s *connect.BidiStream[pb.BidiStreamRequest, pb.BidiStreamResponse]) error {
	var def *pb.StreamResponseDefinition
	var requests []*anypb.Any
	duplex, first, sent := false, true, 0
	send := func() error {
		if def == nil || sent == len(def.GetResponseData()) {
			return nil
		}
		payload := &pb.ConformancePayload{Data: def.GetResponseData()[sent]}
		if sent == 0 {
			payload.RequestInfo = requestInfo(ctx, s.RequestHeader(), requests...)
		} else if duplex && len(requests) > 0 {
			payload.RequestInfo = &pb.ConformancePayload_RequestInfo{Requests: requests}
		}
		requests = nil
		sent++
		time.Sleep(delay(def.GetResponseDelayMs()))
		return s.Send(&pb.BidiStreamResponse{Payload: payload})
	}
	for {
		r, err := s.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		requests = append(requests, pack(r))
		if first {
			def, duplex, first = r.GetResponseDefinition(), r.GetFullDuplex(), false
			addHeaders(s.ResponseHeader(), def.GetResponseHeaders())
			addHeaders(s.ResponseTrailer(), def.GetResponseTrailers())
			if duplex && len(def.GetResponseData()) > 0 {
				if err := s.Send(nil); err != nil {
					return err
				}
			}
		}
		if duplex {
			if sent >= len(def.GetResponseData()) {
				break
			}
			if err := send(); err != nil {
				return err
			}
		}
	}
	for range len(def.GetResponseData()) - sent {
		if err := send(); err != nil {
			return err
		}
	}
	if sent > 0 {
		return streamError(def, nil)
	}
	return streamError(def, requestInfo(ctx, s.RequestHeader(), requests...))
}

// payloadOf is the answer that a definition asks for: a payload or an error.
func payloadOf(def *pb.UnaryResponseDefinition, info *pb.ConformancePayload_RequestInfo) (*pb.ConformancePayload, error) {
	time.Sleep(delay(def.GetResponseDelayMs()))
	if e := def.GetError(); e != nil {
		err := connectError(e, info)
		addHeaders(err.Meta(), def.GetResponseHeaders())
		addHeaders(err.Meta(), def.GetResponseTrailers())
		return nil, err
	}
	return &pb.ConformancePayload{Data: def.GetResponseData(), RequestInfo: info}, nil
}

// streamError is the error that ends a stream, if the definition asks for one. It has the
// request's info if nothing was sent before it.
func streamError(def *pb.StreamResponseDefinition, info *pb.ConformancePayload_RequestInfo) error {
	if def.GetError() == nil {
		return nil
	}
	if len(def.GetResponseData()) > 0 {
		info = nil
	}
	return connectError(def.GetError(), info)
}

func connectError(e *pb.Error, info *pb.ConformancePayload_RequestInfo) *connect.Error {
	err := connect.NewError(connect.Code(e.GetCode()), errors.New(e.GetMessage()))
	details := e.GetDetails()
	if info != nil {
		details = append(details, pack(info))
	}
	for _, d := range details {
		if detail, e := connect.NewErrorDetail(d); e == nil {
			err.AddDetail(detail)
		}
	}
	return err
}

func requestInfo(ctx context.Context, h http.Header, requests ...*anypb.Any) *pb.ConformancePayload_RequestInfo {
	info := &pb.ConformancePayload_RequestInfo{RequestHeaders: headerList(h), Requests: requests}
	if at, ok := ctx.Deadline(); ok {
		info.TimeoutMs = proto.Int64(time.Until(at).Milliseconds())
	}
	return info
}

func pack(m proto.Message) *anypb.Any {
	packed, err := anypb.New(m)
	if err != nil {
		panic(err) // messages of the suite can be marshalled
	}
	return packed
}

func delay(ms uint32) time.Duration { return time.Duration(ms) * time.Millisecond }

func headerList(h map[string][]string) (list []*pb.Header) {
	for name, values := range h {
		list = append(list, &pb.Header{Name: name, Value: values})
	}
	return list
}

func addHeaders(h http.Header, list []*pb.Header) {
	for _, l := range list {
		for _, value := range l.GetValue() {
			h.Add(l.GetName(), value)
		}
	}
}

// runConnectServer is the server that the suite starts: it reads what is asked for from the
// standard input, writes its address, and ends at SIGTERM.
func runConnectServer(kind string, in io.Reader, out io.Writer) error {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	text := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(in, text); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	r := &pb.ServerCompatRequest{}
	if err := proto.Unmarshal(text, r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var opts []connect.HandlerOption
	if n := r.GetMessageReceiveLimit(); n > 0 {
		opts = append(opts, connect.WithReadMaxBytes(int(n)))
	}
	resp := &pb.ServerCompatResponse{Host: "127.0.0.1"}
	var cfg *tls.Config
	if r.GetUseTls() {
		cert, err := tls.X509KeyPair(r.GetServerCreds().GetCert(), r.GetServerCreds().GetKey())
		if err != nil {
			return fmt.Errorf("read certificate: %w", err)
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{cert}}
		var b bytes.Buffer
		for _, der := range cert.Certificate {
			if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
				return err
			}
		}
		resp.PemCert = b.Bytes()
	}
	addr, err := listenConnect(kind, newConnectMux(opts...), cfg)
	if err != nil {
		return err
	}
	resp.Port = uint32(addr.(*net.TCPAddr).Port)
	text, err = proto.Marshal(resp)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		return err
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	<-ended.Done() // the process ends, and the server with it
	return nil
}

// listenConnect starts a server of a kind: "nethttp-" or "redline-" and a transport.
func listenConnect(kind string, h http.Handler, cfg *tls.Config) (net.Addr, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	if kind == "nethttp-" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s := &http.Server{Handler: h, TLSConfig: cfg, Protocols: protocols}
		if cfg != nil {
			go func() { _ = s.ServeTLS(l, "", "") }()
		} else {
			go func() { _ = s.Serve(l) }()
		}
		return l.Addr(), nil
	}
	s := &redline.Server{Transport: redline.Transport(kind[len("redline-"):]), Handler: h, TLSConfig: cfg, Protocols: protocols}
	listen := s.Listen
	if cfg != nil {
		listen = func(addr string) (net.Addr, error) { return s.ListenTLS(addr, "", "") }
	}
	addr, err := listen("127.0.0.1:0")
	if err == nil {
		go func() { _ = s.Run() }()
	}
	return addr, err
}
