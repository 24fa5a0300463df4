package compat_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestModelContextProtocol runs an MCP server over streamable HTTP: in sessions
// with events and with plain answers, and without sessions.
func TestModelContextProtocol(t *testing.T) {
	for name, options := range map[string]*mcp.StreamableHTTPOptions{
		"events":    {EventStore: mcp.NewMemoryEventStore(nil)},
		"json":      {JSONResponse: true},
		"stateless": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, func(t *testing.T, c carrier, r *report) {
				server := mcpServer()
				s := c.start(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
				playMCP(t, r, s, server, options)
				r.get(t, s, "/")
				r.do(t, s, "POST", "/", strings.NewReader("{}"))
				r.do(t, s, "DELETE", "/", nil, "Mcp-Session-Id: none")
			})
		})
	}
}

// A sentence is what the tools take and give.
type sentence struct {
	Words string `json:"words"`
}

// mcpServer has a tool that answers, one that reports progress and asks its
// client back, one that fails, one that waits for ever, a prompt and a resource.
func mcpServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "compat", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "shout"}, func(_ context.Context, _ *mcp.CallToolRequest, in sentence) (*mcp.CallToolResult, sentence, error) {
		return nil, sentence{strings.ToUpper(in.Words)}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, q *mcp.CallToolRequest, in sentence) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			err := q.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: q.Params.GetProgressToken(), Progress: float64(i), Message: in.Words})
			if err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "three steps"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		a, err := q.Session.Elicit(ctx, &mcp.ElicitParams{Message: "really?"})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Action}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("out of order")
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "compat://big", Name: "big"}, func(_ context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, Blob: pattern(1 << 20)}}}, nil
	})
	return s
}

func playMCP(t *testing.T, r *report, s *service, server *mcp.Server, options *mcp.StreamableHTTPOptions) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	progress, changed := make(chan string, 10), make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, q *mcp.ProgressNotificationClientRequest) {
			progress <- fmt.Sprintf("%v %s", q.Params.Progress, q.Params.Message)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: s.client, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r.add("%s, protocol %s, with a session: %v", session.InitializeResult().ServerInfo.Name, session.InitializeResult().ProtocolVersion, session.ID() != "")
	call := func(tool string, args any) {
		params := &mcp.CallToolParams{Name: tool, Arguments: args}
		params.SetProgressToken("token")
		a, err := session.CallTool(ctx, params)
		if err != nil {
			r.add("%s: %v", tool, err)
			return
		}
		r.add("%s: error %v, %v", tool, a.IsError, a.StructuredContent)
		for _, c := range a.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				r.add("  %s", text.Text)
			}
		}
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		r.add("tool %s", tool.Name)
	}
	call("shout", sentence{"hello " + strings.Repeat("again ", 1000)})
	call("fail", struct{}{})
	call("nothing", struct{}{})
	call("steps", sentence{"on the way"})
	if !options.JSONResponse {
		for range 3 {
			r.add("progress %s", within(t, progress, "progress"))
		}
	}
	if !options.Stateless && !options.JSONResponse {
		call("ask", struct{}{})
		// This comes through the stream that stands for what nobody asked for.
		server.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}}, nil)
		within(t, changed, "the notice of a new tool")
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
	if err != nil {
		t.Fatal(err)
	}
	r.add("prompt of %d messages", len(prompt.Messages))
	big, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "compat://big"})
	if err != nil {
		t.Fatal(err)
	}
	r.add("resource %s", brief(big.Contents[0].Blob))
	r.add("ping: %v", session.Ping(ctx, nil))
	r.add("close: %v", session.Close())
}
