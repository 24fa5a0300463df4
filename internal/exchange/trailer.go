package exchange

// What a session does with a field of a request's trailer section.
const (
	TrailerKept = iota
	TrailerDropped
	TrailerRefused
)

// TrailerRule says what a session does with a field of a trailer section.
func TrailerRule(id HeaderID) int {
	switch bit := uint64(1) << id; {
	case bit&refusedTrailers != 0:
		return TrailerRefused
	case bit&droppedTrailers != 0:
		return TrailerDropped
	}
	return TrailerKept
}

// Header IDs as bits.
const (
	// refusedTrailers change where a message ends, where it goes or what happens to its
	// connection: in a trailer they are an attack (RFC 9110, 6.5.1).
	refusedTrailers = 1<<HeaderHost | 1<<HeaderContentLength |
		1<<HeaderTransferEncoding | 1<<HeaderConnection |
		1<<HeaderExpect | 1<<HeaderUpgrade | 1<<HeaderTE |
		1<<HeaderTrailer | 1<<HeaderKeepAlive |
		1<<HeaderProxyConnection | 1<<HeaderHTTP2Settings |
		1<<HeaderMaxForwards

	// droppedTrailers are forbidden by RFC 9110, 6.5.1 because they modify the request,
	// authenticate it or say how to read its content, for which a trailer is too late.
	droppedTrailers = 1<<HeaderAuthorization | 1<<HeaderProxyAuthorization |
		1<<HeaderCookie | 1<<HeaderCacheControl |
		1<<HeaderPragma | 1<<HeaderRange | 1<<HeaderIfMatch |
		1<<HeaderIfNoneMatch | 1<<HeaderIfModifiedSince |
		1<<HeaderIfUnmodifiedSince | 1<<HeaderIfRange |
		1<<HeaderContentEncoding | 1<<HeaderContentLanguage |
		1<<HeaderContentRange | 1<<HeaderContentType |
		1<<HeaderForwarded | 1<<HeaderXForwardedFor |
		1<<HeaderXForwardedHost | 1<<HeaderXForwardedProto |
		1<<HeaderXRealIP
)
