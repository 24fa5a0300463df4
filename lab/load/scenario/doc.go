// Package scenario reads the description of a load and compiles it into requests: a mix of
// weighted targets and flows with variables, captures, signed tokens, checks and think
// time. docs/scenario.md is the manual of the format, and docs/scenario.schema.json its
// schema. The package also reads vegeta's target format.
//
// It opens no sockets. A generator compiles a [Plan] with [Load], gives every connection a
// [User], and then runs this loop:
//
//	t, ok := user.Next()              // false: wait for the answer before
//	buf = user.Append(buf[:0], t)     // HTTP/1.1; or View for HTTP/2
//	...                               // send buf, then t.Stream() if there is one
//	failed := user.Answer(t, status, head, body)
//	...                               // wait for user.Think(t)
//
// # Costs
//
// Everything in a file is compiled when it is loaded. A template is a list of literals and
// variables; neighbouring literals are merged. A target without variables is constant
// ([Target.Wire]), so that a generator can pass its bytes to the kernel without a copy;
// [Plan.Constant] reports that a plan consists of one such target. Requests with variables
// are appended to the caller's buffer without allocation, and so are tokens signed with
// HMAC. Checks that hold do not allocate. RSA signatures take about a millisecond each, far
// more than the request: use such a token for longer with per: user.
//
// # When values are drawn
//
// A variable gets its value when an iteration (one pass of a flow, or one request of a
// target) first uses it, and keeps it until the iteration ends, so that a login and the
// order after it use the same customer. per: request or per: user makes that shorter or
// longer. Counters and CSV rows are dealt out: each user computes its own share, so there
// are no locks, and no two users get the same value.
//
// # Options of the command line
//
// Options.Set and Options.Check are added to every request. A header field set there
// replaces the one in the file. A check is added to the others, like a check of the
// defaults, so that a target that expects a 404 still does.
//
// # Guarantees
//
// No value of a variable, not even a hostile one from a capture, can end the place that
// contains it: in a URL it is percent-encoded, in a header field control characters become
// spaces, in JSON it is escaped. A reference to something that does not exist yet is an
// error at load time, not an empty string during the run.
package scenario
