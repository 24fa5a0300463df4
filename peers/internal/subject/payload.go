package subject

// Hello is the body of /plaintext and the message of /json.
const Hello = "Hello, World!"

// BodyLimit is the longest request body, in bytes, that a subject accepts; a longer one
// gets 413, or its connection is closed.
const BodyLimit = 64 << 20

// Message is encoded by /json for every request.
type Message struct {
	Message string `json:"message"`
}
