// Package subject holds what the subjects under test share and what is not the
// business of any of their stacks: flags, the listening socket, the end of the
// process, the control socket, the payloads and the form of a streamed event.
//
// A subject's main.go is everything else, written as a user of that stack would
// write it:
//
//	func main() { subject.Main("chi", "github.com/go-chi/chi/v5", serve) }
//
//	func serve(ctx context.Context, ln net.Listener) error { ... }
//
// The contract that all subjects keep is in peers/README.md.
package subject
