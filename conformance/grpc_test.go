package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// The variables that make this program the client of one case: the functions of interop end
// the process if they fail.
const (
	caseVariable   = "CONFORMANCE_CASE"
	addrVariable   = "CONFORMANCE_ADDR"
	secureVariable = "CONFORMANCE_TLS"
)

// onConnection makes a case of one that needs the client alone.
func onConnection(f func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)) func(context.Context, *grpc.ClientConn) {
	return func(ctx context.Context, c *grpc.ClientConn) { f(ctx, testgrpc.NewTestServiceClient(c)) }
}

// grpcCases are the cases of interop that need neither credentials of a cloud nor a load balancer.
var grpcCases = map[string]func(context.Context, *grpc.ClientConn){
	"empty_unary":                 onConnection(interop.DoEmptyUnaryCall),
	"large_unary":                 onConnection(interop.DoLargeUnaryCall),
	"client_streaming":            onConnection(interop.DoClientStreaming),
	"server_streaming":            onConnection(interop.DoServerStreaming),
	"ping_pong":                   onConnection(interop.DoPingPong),
	"empty_stream":                onConnection(interop.DoEmptyStream),
	"timeout_on_sleeping_server":  onConnection(interop.DoTimeoutOnSleepingServer),
	"cancel_after_begin":          onConnection(interop.DoCancelAfterBegin),
	"cancel_after_first_response": onConnection(interop.DoCancelAfterFirstResponse),
	"custom_metadata":             onConnection(interop.DoCustomMetadata),
	"status_code_and_message":     onConnection(interop.DoStatusCodeAndMessage),
	"special_status_message":      onConnection(interop.DoSpecialStatusMessage),
	"unimplemented_method":        interop.DoUnimplementedMethod,
	"unimplemented_service": func(ctx context.Context, c *grpc.ClientConn) {
		interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(c))
	},
	"pick_first_unary": func(ctx context.Context, c *grpc.ClientConn) {
		interop.DoPickFirstUnary(ctx, testgrpc.NewTestServiceClient(c))
	},
	"rpc_soak": soak,
}

// soak makes 200 calls with two workers, over one connection.
func soak(ctx context.Context, c *grpc.ClientConn) {
	interop.DoSoakTest(ctx, interop.SoakTestConfig{
		RequestSize: 271828, ResponseSize: 314159, PerIterationMaxAcceptableLatency: 10 * time.Second,
		OverallTimeout: 40 * time.Second, ServerAddr: c.Target(), NumWorkers: 2, Iterations: 100,
		ChannelForTest: func() (*grpc.ClientConn, func()) { return c, func() {} },
	})
}

// named adds the name of the server to answers, which pick_first_unary compares and the test
// server of interop leaves out.
type named struct{ testgrpc.TestServiceServer }

func (s named) UnaryCall(ctx context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	resp, err := s.TestServiceServer.UnaryCall(ctx, r)
	if resp != nil && r.GetFillServerId() {
		resp.ServerId = "conformance"
	}
	return resp, err
}

// TestGRPC runs the interoperability tests of gRPC against grpc.Server.ServeHTTP.
func TestGRPC(t *testing.T) {
	onEach(t, false, func(t *testing.T, v variant) {
		s := grpc.NewServer()
		t.Cleanup(s.Stop)
		testgrpc.RegisterTestServiceServer(s, named{interop.NewTestServer()})
		addr := start(t, v, http.HandlerFunc(s.ServeHTTP), nil).String()
		names := make([]string, 0, len(grpcCases))
		for name := range grpcCases {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(os.Environ(), caseVariable+"="+name, addrVariable+"="+addr)
				if v.secure {
					cmd.Env = append(cmd.Env, secureVariable+"=1")
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	})
}

// runCase is the client of one case. It ends the process if the case fails.
func runCase(name, addr string, secure bool) {
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	grpcCases[name](ctx, c)
}
