// Package scenario reads what a load generator is to ask for, and turns it into
// requests: a mix of weighted targets and flows with variables, captures, signed
// tokens, checks and think time. docs/scenario.md teaches the format, and
// docs/scenario.schema.json is its schema; the format of vegeta's targets is read
// as well.
//
// It opens no sockets. A generator compiles a [Plan] with [Load], gives every
// connection a [User], and then
//
//	t, ok := user.Next()              // false: wait for the answer before
//	buf = user.Append(buf[:0], t)     // HTTP/1.1; or View for HTTP/2
//	...                               // send buf, then t.Stream() if there is one
//	failed := user.Answer(t, status, head, body)
//	...                               // wait for user.Think(t)
//
// # What it costs
//
// Everything that a file says is compiled at load: a template is a list of
// literals and variables whose neighbouring literals are one. A target without
// variables is constant ([Target.Wire]), so that a generator may hand its bytes to
// the kernel without copying them; a plan of one such target says so as a whole
// ([Plan.Constant]). Requests with variables are appended to the caller's buffer
// without allocation, and so are tokens under HMAC. Checks do not allocate while
// they hold. RSA signatures take about a millisecond each, far more than the
// request: let such a token last longer with per: user.
//
// # What is drawn when
//
// A variable gets a value when an iteration first uses it (one pass of a flow, or
// one request of a target) and keeps it until the iteration ends, so that a login
// and the order after it speak of the same customer. per: request or per: user
// makes that shorter or longer. Counters and CSV rows are dealt out: the users of
// a run take turns without talking to each other, hence nothing is locked and no
// value is given to two of them.
//
// # What the command line says
//
// Options.Set and Options.Check are what flags add to every request. A header field
// set there is meant to win, so it takes the place of the file's; a check adds to
// the others as those of defaults do, so that a target which expects a 404 goes on
// expecting it.
//
// # What cannot happen
//
// No value of a variable, hostile ones from captures included, ends the place it
// stands in: within a URL it is percent-encoded, within a header field control
// characters become blanks, within JSON it is escaped. A reference to what does
// not exist yet is an error at load, not an empty string under load.
package scenario
