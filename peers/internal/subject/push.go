package subject

import (
	"bytes"
	"fmt"
)

const (
	maxTopic = 256 // bytes

	// MaxPublish is the longest body of POST /publish, in bytes.
	MaxPublish = 64 << 10
)

// Topic checks the query parameter topic of /events and /publish. The error is for the client,
// with status 400.
func Topic(text string) (string, error) {
	if text == "" || len(text) > maxTopic {
		return "", fmt.Errorf("topic is not a name of 1 to %d bytes", maxTopic)
	}
	return text, nil
}

// Published frames the body of POST /publish as a server-sent event, which the subscribers
// share. The error is for the client, with status 400.
func Published(body []byte) ([]byte, error) {
	if len(body) == 0 || len(body) > MaxPublish || bytes.ContainsAny(body, "\r\n") {
		return nil, fmt.Errorf("body is not one line of 1 to %d bytes", MaxPublish)
	}
	event := make([]byte, 0, len(prefix)+len(body)+len("\n\n"))
	return append(append(append(event, prefix...), body...), "\n\n"...), nil
}
