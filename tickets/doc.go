// Package tickets lets clients resume TLS sessions on any process of a service, or from a
// cache. It works with every server that takes a [crypto/tls.Config], and imports only the
// standard library.
//
// [Keys] encrypt session tickets with keys that change every twelve hours. Processes share
// them through a file:
//
//	keys, err := tickets.NewKeys(tickets.File("/run/example/tickets"))
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer keys.Close()
//	keys.Apply(config)
//
// or through a function ([Fetch]), or have keys of their own:
//
//	                 ticket contains     shared by
//	NewKeys()        encrypted session   the configurations of a process
//	NewKeys(File)    encrypted session   the processes of a machine or a file system
//	NewKeys(Fetch)   encrypted session   whatever the function is shared by
//	NewCache(bytes)  random name         the configurations of a process
//
// A [Cache] keeps the sessions themselves, within a number of bytes, and gives clients only
// names of them.
//
// # What is guaranteed
//
// A session is resumed only under the server name that it began with (RFC 6066, section 3),
// not at all after its key or its entry is gone, and in any case not after seven days, which
// crypto/tls ensures. A ticket that cannot be used costs its client a full handshake, and is
// never an error.
//
// Ticket keys are as sensitive as the connections they resume. They appear in no log, no
// error and no formatted value. Early data (0-RTT) is not offered by crypto/tls.
//
// docs/tls.md says how to run a fleet; docs/adr/0041-session-tickets.md has the reasons.
package tickets
