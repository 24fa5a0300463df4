//lint:file-ignore SA1019 the suite asks for logging and sampling, which the protocol deprecates.

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpPause lets what a tool sends travel alone, so that clients see a stream.
const mcpPause = 50 * time.Millisecond

// newMCP is a server of the Model Context Protocol over streamable HTTP, with the tools,
// resources and prompts that the suite asks for by their names.
func newMCP() http.Handler {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "redline-conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"test"}, Total: 1}}, nil
		},
		SubscribeHandler:   nothing,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for name, tool := range mcpTools {
		schema := json.RawMessage(`{"type": "object"}`)
		if name == "json_schema_2020_12_tool" {
			schema = json.RawMessage(mcpSchema)
		}
		s.AddTool(&mcp.Tool{Name: name, Description: "for the suite: " + name, InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			content, err := tool(ctx, r)
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{says("%v", err)}}, nil
			}
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	addResources(s)
	addPrompts(s)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		EventStore: mcp.NewMemoryEventStore(nil), // streams are taken up again
	})
}

// mcpSchema has the keywords of JSON Schema 2020-12 that must reach the client as they are.
const mcpSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
	"additionalProperties": false
}`

// Contents of the kinds there are.
func says(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func image() mcp.Content {
	return &mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"}
}

func embedded(uri string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "an embedded resource"}}
}

// An mcpTool is what a tool does.
type mcpTool = func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error)

// answers is a tool that always answers the same.
func answers(content ...mcp.Content) mcpTool {
	return func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) { return content, nil }
}

var mcpTools = map[string]mcpTool{
	"test_simple_text":            answers(says("This is a simple text response for testing.")),
	"test_image_content":          answers(image()),
	"test_audio_content":          answers(&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"}),
	"test_embedded_resource":      answers(embedded("test://embedded-resource")),
	"test_multiple_content_types": answers(says("several kinds"), image(), embedded("test://mixed")),
	"json_schema_2020_12_tool":    answers(says("called")),
	"test_error_handling": func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
		return nil, errors.New("This tool intentionally returns an error for testing")
	},
	"test_tool_with_logging": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil {
				return nil, err
			}
			time.Sleep(mcpPause)
		}
		return []mcp.Content{says("logged")}, nil
	},
	"test_tool_with_progress": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		token := r.Params.GetProgressToken()
		for _, n := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 100}); err != nil {
				return nil, err
			}
			time.Sleep(mcpPause)
		}
		return []mcp.Content{says("%v", token)}, nil
	},
	// The stream ends within the call; the client takes it up again and gets the result there.
	"test_reconnection": func(_ context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: mcpPause})
		}
		time.Sleep(2 * mcpPause)
		return []mcp.Content{says("reconnected")}, nil
	},
	"test_sampling": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		m, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
			Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}},
			MaxTokens: 100,
		})
		if err != nil {
			return nil, err
		}
		text, ok := m.Content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("the client answers with %T", m.Content)
		}
		return []mcp.Content{says("LLM response: %s", text.Text)}, nil
	},
	"test_elicitation": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		var in struct{ Message string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return elicit(ctx, r, in.Message, `{"username": {"type": "string"}, "email": {"type": "string"}}`)
	},
	"test_elicitation_sep1034_defaults": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		return elicit(ctx, r, "defaults", `{
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}
		}`)
	},
	"test_elicitation_sep1330_enums": func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		return elicit(ctx, r, "enums", `{
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["First", "Second"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]}}
		}`)
	},
}

// elicit asks the client's user for values of these properties.
func elicit(ctx context.Context, r *mcp.CallToolRequest, message, properties string) ([]mcp.Content, error) {
	answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type": "object", "properties": ` + properties + `}`)})
	if err != nil {
		return nil, err
	}
	return []mcp.Content{says("%s: %v", answer.Action, answer.Content)}, nil
}

// addResources adds the resources of the suite.
func addResources(s *mcp.Server) {
	for uri, c := range map[string]mcp.ResourceContents{
		"test://static-text":      {MIMEType: "text/plain", Text: "a static text"},
		"test://static-binary":    {MIMEType: "image/png", Blob: []byte("\x89PNG\r\n\x1a\n")},
		"test://watched-resource": {MIMEType: "text/plain", Text: "a resource that is watched"},
	} {
		c.URI = uri
		s.AddResource(&mcp.Resource{URI: uri, Name: uri, Description: "for the suite", MIMEType: c.MIMEType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			var id string
			if _, err := fmt.Sscanf(r.Params.URI, "test://template/%3s/data", &id); err != nil {
				return nil, err
			}
			text := fmt.Sprintf(`{"id": %q}`, id)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: text}}}, nil
		})
}

// addPrompts adds the prompts of the suite.
func addPrompts(s *mcp.Server) {
	add := func(name string, arguments []string, f func(in map[string]string) []mcp.Content) {
		p := &mcp.Prompt{Name: name, Description: "for the suite"}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			result := new(mcp.GetPromptResult)
			for _, c := range f(r.Params.Arguments) {
				result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return result, nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{says("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(in map[string]string) []mcp.Content {
		return []mcp.Content{says("Prompt with arguments: arg1='%s', arg2='%s'", in["arg1"], in["arg2"])}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(in map[string]string) []mcp.Content {
		return []mcp.Content{embedded(in["resourceUri"]), says("Please process the embedded resource above.")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{image(), says("Please describe the image above.")}
	})
}
