package nethttptest

// A reason is why Redline does something in its own way.
type reason struct{ title, why string }

// The reasons of trials that differ on purpose. Those of rules stand with them.
var (
	strict = reason{
		"Strict syntax",
		"What RFC 9110 and 9112 forbid is refused with 400 and the end of the connection, and what follows it is never parsed: two servers " +
			"that read such bytes in two ways are how requests are smuggled. net/http lets some of it through.",
	}
	minor = reason{
		"Later versions of HTTP/1",
		"A request of HTTP/1.2 or later is one of HTTP/1.1 to its handler, as it is to the server (RFC 9110, 2.5).",
	}
	bounds = reason{
		"Bounds that have defaults",
		"A head has 64 KiB and 128 fields unless MaxHeaderBytes or Limits say otherwise (net/http: 1 MiB and any number), and a target that " +
			"is too long gets 414.",
	}
	late = reason{
		"408 for heads that come too late",
		"A client whose head is not complete in time is told so by 408; net/http calls it malformed.",
	}
	readable = reason{
		"Content stays readable",
		"The request's content can be read when the answer has begun, as if EnableFullDuplex was always called. net/http closes it at the " +
			"first byte of the answer.",
	}
	continues = reason{
		"100 (Continue) behind WriteHeader",
		"It is still sent when the handler has written and then reads, as long as nothing of the answer is on its way. net/http then has the " +
			"client wait.",
	}
	emptyLines = reason{
		"Empty lines before a request",
		"They are skipped, as RFC 9112 (2.2) recommends.",
	}
	framing = reason{
		"Framing is the server's",
		"Of what a handler says in Connection, close counts, wherever it stands, keep-alive is left out, and the rest is sent. A Transfer-Encoding " +
			"is not sent, and has the body come in chunks unless it is identity or there is a Content-Length. Of several Content-Lengths one " +
			"counts. An answer that was sent whole keeps its connection when the handler then writes too much. net/http sends what it was given, " +
			"right or wrong, or gives up the connection.",
	}
	controls = reason{
		"Control characters in fields",
		"Those in a value become spaces, all of them. net/http replaces CR and LF alone.",
	}
	written = reason{
		"What was written before Hijack",
		"It is sent, where the answer had begun. net/http drops what is still in its buffer, or sends a head and no body.",
	}
	ends = reason{
		"Ends are announced",
		"An answer behind which the connection has to end because the content did not come whole says Connection: close. net/http says so when the " +
			"content is chunked. Nor is a connection kept when a handler has not seen the end of content that it did not ask for by 100 (Continue).",
	}
	tooLarge = reason{
		"Content behind a MaxBytesReader",
		"A connection ends when a handler leaves content that it read by a MaxBytesReader, whether or not it had come to the bound.",
	}
	faults = reason{
		"Where net/http fails",
		"It panics, loses its place in the stream, or says one thing and does another. Redline returns an error, or does what it says.",
	}
	states = reason{
		"ConnState at the edges",
		"A connection is active when a head is complete, and idle when its last answer was queued, whatever the client does meanwhile.",
	}
	shutdowns = reason{
		"Ends of a server",
		"When the context of Shutdown ends first, what is left is cut: nobody waits for it any more. Closing a listener behind the server's back " +
			"does not end Serve: Shutdown and Close do. IdleTimeout has a default of its own and does not follow ReadTimeout.",
	}
	cutShort = reason{
		"Answers that come too late are cut",
		"A connection whose WriteTimeout has passed, or whose client takes nothing for StallTimeout, ends with a reset, so that nobody takes for whole what " +
			"came of the answer. net/http closes it in good order behind what was sent, which a client cannot tell from the end of an answer " +
			"that the end of the connection ends.",
	}
	noBody = reason{
		"No body with 205 and CONNECT",
		"RFC 9110 (15.3.6 and 9.3.6) forbids it. The connection of a CONNECT that was not hijacked ends.",
	}
	trailers = reason{
		"Trailers",
		"Those that the handler sets by prefix are sent however small the body is, where net/http drops them when it knows the length. Fields that " +
			"say how to read or route a message, and Set-Cookie, are never trailers (RFC 9110, 6.5.1).",
	}
	unread = reason{
		"Unread content is skipped behind the answer",
		"An answer that begins before its handler returns does not wait for content that the handler left, and so cannot announce that the connection ends " +
			"because there was too much of it.",
	}
)

// reasons are all of them, in the order of the list.
var reasons = []*reason{&strict, &minor, &bounds, &late, &readable, &continues, &emptyLines, &framing, &controls, &written, &ends, &tooLarge, &faults, &states, &shutdowns, &cutShort, &noBody, &trailers, &unread}
