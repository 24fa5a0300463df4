package nethttptest

// A reason is why Redline does something in its own way.
type reason struct{ title, why string }

// The reasons of trials that differ on purpose. Those of rules stand with them.
var (
	strict = reason{
		"Strict syntax",
		"Input that RFC 9110 and 9112 forbid gets 400, the connection is closed, and nothing after it is parsed: two servers " +
			"that read such bytes differently make request smuggling possible. net/http accepts some of it. Only the head of net/rpc, " +
			"\"CONNECT /path HTTP/1.0\" and two bare line feeds, is accepted: no fields are in it, and no request can follow.",
	}
	minor = reason{
		"Later versions of HTTP/1",
		"To its handler, a request of HTTP/1.2 or later is one of HTTP/1.1, as it is to the server (RFC 9110, 2.5).",
	}
	bounds = reason{
		"Limits with defaults",
		"A head may have 64 KiB and 128 fields unless MaxHeaderBytes or Limits say otherwise (net/http: 1 MiB and any number), " +
			"and a target that does not fit gets 414.",
	}
	late = reason{
		"408 for late heads",
		"A client whose head is not complete in time gets 408; net/http calls the head malformed.",
	}
	readable = reason{
		"Content stays readable",
		"The request's content can still be read when the answer has begun, as if EnableFullDuplex had been called. net/http " +
			"closes it at the first byte of the answer.",
	}
	continues = reason{
		"100 (Continue) after WriteHeader",
		"It is still sent when the handler has written and then reads, as long as no part of the answer has been sent. net/http " +
			"does not send it, and the client waits.",
	}
	emptyLines = reason{
		"Empty lines before a request",
		"They are skipped, as RFC 9112 (2.2) recommends.",
	}
	framing = reason{
		"The server controls framing",
		"If a handler sets Connection, close is honoured at any position, and the rest is sent. A " +
			"Transfer-Encoding is not sent; the body is chunked unless it is identity or there is a Content-Length. Of several " +
			"Content-Lengths one counts. A complete answer keeps its connection if the handler then writes too much. net/http sends " +
			"what the handler set, right or wrong, or closes the connection.",
	}
	controls = reason{
		"Control characters in fields",
		"All control characters in a value become spaces. net/http replaces only CR and LF.",
	}
	written = reason{
		"Output before Hijack",
		"It is sent if the answer had begun. net/http drops what is still in its buffer, or sends a head and no body.",
	}
	ends = reason{
		"The end of a connection is announced",
		"If the connection has to be closed after an answer because the content did not arrive whole, the answer says " +
			"Connection: close. net/http says so if the content is chunked. The connection is also closed if the handler has not " +
			"seen the end of content that it did not request with 100 (Continue).",
	}
	tooLarge = reason{
		"Content left in a MaxBytesReader",
		"The connection is closed if a handler leaves content that it read through a MaxBytesReader, whether or not the limit " +
			"was reached.",
	}
	faults = reason{
		"Where net/http fails",
		"It panics, loses its place in the stream, or says one thing and does another. Redline returns an error, or does what " +
			"it says.",
	}
	states = reason{
		"ConnState in edge cases",
		"A connection is active when a head is complete, and idle when its last answer was queued, whatever the client does " +
			"meanwhile.",
	}
	shutdowns = reason{
		"Shutdown and Close",
		"If the context of Shutdown ends first, the remaining connections are cut, because nothing waits for them any more. " +
			"IdleTimeout has its own default and does not follow ReadTimeout.",
	}
	cutShort = reason{
		"Late answers are cut",
		"A connection whose WriteTimeout has passed, or whose client accepts nothing for StallTimeout, ends with a reset, so " +
			"that no client mistakes a partial answer for a complete one. net/http closes it in order after what was sent, which a " +
			"client cannot distinguish from the end of an answer that is delimited by the end of the connection.",
	}
	noBody = reason{
		"No body with 205 and CONNECT",
		"RFC 9110 (15.3.6 and 9.3.6) forbids it. The connection of a CONNECT that was not hijacked is closed: its client may have " +
			"sent data for the tunnel, and an intermediary may not look at it, so nothing of it must be taken for a request.",
	}
	trailers = reason{
		"Trailers",
		"Trailers that the handler sets by prefix are always sent; net/http drops them when the body is so small that it knows " +
			"the length. Fields that say how to read or route a message, and Set-Cookie, are never trailers (RFC 9110, 6.5.1).",
	}
	unread = reason{
		"Unread content is skipped after the answer",
		"An answer that begins before its handler returns does not wait for content that the handler left unread, and so cannot " +
			"announce that the connection will be closed because there was too much of it.",
	}
)

// reasons are all of them, in the order of the list.
var reasons = []*reason{&strict, &minor, &bounds, &late, &readable, &continues, &emptyLines, &framing, &controls, &written, &ends, &tooLarge, &faults, &states, &shutdowns, &cutShort, &noBody, &trailers, &unread}
