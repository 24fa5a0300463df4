// Package subject contains what the subjects under test share apart from their stacks:
// flags, the listening socket, the end of the process, the control socket, the payloads and
// the format of a streamed event.
//
// A subject's main.go contains everything else, written as a user of that stack would write
// it:
//
//	func main() { subject.Main("chi", "github.com/go-chi/chi/v5", serve) }
//
//	func serve(ctx context.Context, ln net.Listener) error { ... }
//
// peers/README.md describes the contract that all subjects fulfil.
package subject
