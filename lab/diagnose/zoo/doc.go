// Package zoo holds servers with one planted performance problem each, and a healthy twin of
// every one. A diagnosis is held to account by them: it has to name the planted cause first,
// and has to find nothing in the twin.
//
// A species is a directory below species: a small service, and species.yaml, which says what
// was planted, how to load the service and what it needs to run (see [Species]). Both variants
// are one main package. The build tag twin selects the healthy files. A service whose twin is a
// setting reads ZOO_TWIN instead, at its start. Names and comments in the services do not
// give the cause away: only species.yaml does, and a diagnosis reads neither.
//
// The rules of the diagnosis were written with the species that are named after a cause. Species
// named after what the service does were written without knowing the rules: they show whether a
// rule finds a cause that has another form.
//
// Services in other languages are below foreign: a directory has their files, and species.yaml the
// command that starts them. They read ZOO_TWIN, or have a command for the twin. They need not
// announce themselves: the port is chosen for them.
//
// Every server keeps to these rules:
//
//   - it listens on 127.0.0.1, at $PORT (0 or none: any port), and prints "listening on ADDR"
//     on standard output;
//   - it answers GET /healthz with 200;
//   - it ends within a second of SIGTERM;
//   - it writes files only below $ZOO_DIR, which is removed after it has ended;
//   - the address of its backend, if it has one, is in $BACKEND.
//
// Package service does this for servers in Go. The backends are programs below backends that
// keep to the same rules; a species names the one that it needs.
//
//	species := zoo.All()
//	defer zoo.Clean()
//	server, err := species[0].Start(ctx, false)
//	...
//	err = server.Stop()
//
// The module is separate from the lab, so that its requirements are not the lab's. The tests
// that use it belong here: the lab does not import it.
package zoo
