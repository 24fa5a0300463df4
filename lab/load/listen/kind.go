package listen

import "fmt"

// Kind is why a connection was given up.
type Kind uint8

// The kinds of errors.
const (
	Connect   Kind = iota // it could not be made
	Reset                 // the peer reset it
	Closed                // the peer closed it before the head of an answer, or ended the stream in order
	Short                 // the peer closed it within an answer that was to go on
	Status                // another status than 200, 204 and redirects
	Redirect              // a redirect, which is not followed
	Media                 // the answer is not of the type text/event-stream
	Coding                // a content coding, such as gzip, though none was offered
	Malformed             // not an HTTP/1.1 answer
	Header                // a head, or trailers, that did not end within 64 KiB
	Chunk                 // broken framing of chunks
	Framing               // a length of a record that is none
	Timeout               // no connection, or no head of an answer, in time
	Stall                 // no byte of the stream within Config.Stall
	numKinds
)

var kindNames = [numKinds]string{
	"connect", "reset", "closed", "short", "status", "redirect", "media type", "coding",
	"malformed", "header", "chunk", "framing", "timeout", "stall",
}

// String is the name under which errors of the kind are counted.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// causes are the kinds in words, for the error of a run that cannot go on.
var causes = [numKinds]string{
	"connection failed", "connection reset by the server", "connection closed by the server",
	"connection closed within an answer", "answer of another status than 200",
	"answer is a redirect, which is not followed: subscribe to its target",
	"answer is not of the media type text/event-stream",
	"answer has a content coding, though none was offered",
	"malformed answer", "answer whose head, or trailers, do not end", "answer with broken chunks",
	"record whose length is none", "no answer in time", "stream without a byte for too long",
}
