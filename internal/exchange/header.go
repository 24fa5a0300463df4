package exchange

import (
	"encoding/binary"
	"fmt"
)

// HeaderID names a well-known request header. It is small enough to index arrays
// and to be a bit of a uint64.
type HeaderID uint8

// The well-known headers. Those up to [LastFraming] decide how a message is framed, routed
// or kept alive, so that a parser can tell with one comparison whether a field needs a
// closer look.
const (
	HeaderOther HeaderID = iota // any name not listed here

	HeaderHost
	HeaderContentLength
	HeaderTransferEncoding
	HeaderConnection
	HeaderExpect
	HeaderTrailer

	HeaderUpgrade
	HeaderTE
	HeaderKeepAlive
	HeaderProxyConnection
	HeaderHTTP2Settings
	HeaderAccept
	HeaderAcceptCharset
	HeaderAcceptEncoding
	HeaderAcceptLanguage
	HeaderAccessControlRequestHeaders
	HeaderAccessControlRequestMethod
	HeaderAuthorization
	HeaderCacheControl
	HeaderContentEncoding
	HeaderContentLanguage
	HeaderContentRange
	HeaderContentType
	HeaderCookie
	HeaderDate
	HeaderDNT
	HeaderForwarded
	HeaderIfMatch
	HeaderIfModifiedSince
	HeaderIfNoneMatch
	HeaderIfRange
	HeaderIfUnmodifiedSince
	HeaderLastEventID
	HeaderMaxForwards
	HeaderOrigin
	HeaderPragma
	HeaderPriority
	HeaderProxyAuthorization
	HeaderRange
	HeaderReferer
	HeaderSecCHUA
	HeaderSecCHUAMobile
	HeaderSecCHUAPlatform
	HeaderSecFetchDest
	HeaderSecFetchMode
	HeaderSecFetchSite
	HeaderSecFetchUser
	HeaderSecWebSocketExtensions
	HeaderSecWebSocketKey
	HeaderSecWebSocketProtocol
	HeaderSecWebSocketVersion
	HeaderTraceparent
	HeaderUpgradeInsecureRequests
	HeaderUserAgent
	HeaderVia
	HeaderXForwardedFor
	HeaderXForwardedHost
	HeaderXForwardedProto
	HeaderXRealIP
	HeaderXRequestID
	HeaderXRequestedWith

	// NumHeaders is the number of values of HeaderID, including HeaderOther.
	NumHeaders = iota
)

// LastFraming is the last of the headers that decide on framing.
const LastFraming = HeaderTrailer

// headerNames spells the names as net/http's canonical form does, so that an
// adapter can take them as map keys.
var headerNames = [NumHeaders]string{
	HeaderOther:                       "",
	HeaderHost:                        "Host",
	HeaderContentLength:               "Content-Length",
	HeaderTransferEncoding:            "Transfer-Encoding",
	HeaderConnection:                  "Connection",
	HeaderExpect:                      "Expect",
	HeaderTrailer:                     "Trailer",
	HeaderUpgrade:                     "Upgrade",
	HeaderTE:                          "Te",
	HeaderKeepAlive:                   "Keep-Alive",
	HeaderProxyConnection:             "Proxy-Connection",
	HeaderHTTP2Settings:               "Http2-Settings",
	HeaderAccept:                      "Accept",
	HeaderAcceptCharset:               "Accept-Charset",
	HeaderAcceptEncoding:              "Accept-Encoding",
	HeaderAcceptLanguage:              "Accept-Language",
	HeaderAccessControlRequestHeaders: "Access-Control-Request-Headers",
	HeaderAccessControlRequestMethod:  "Access-Control-Request-Method",
	HeaderAuthorization:               "Authorization",
	HeaderCacheControl:                "Cache-Control",
	HeaderContentEncoding:             "Content-Encoding",
	HeaderContentLanguage:             "Content-Language",
	HeaderContentRange:                "Content-Range",
	HeaderContentType:                 "Content-Type",
	HeaderCookie:                      "Cookie",
	HeaderDate:                        "Date",
	HeaderDNT:                         "Dnt",
	HeaderForwarded:                   "Forwarded",
	HeaderIfMatch:                     "If-Match",
	HeaderIfModifiedSince:             "If-Modified-Since",
	HeaderIfNoneMatch:                 "If-None-Match",
	HeaderIfRange:                     "If-Range",
	HeaderIfUnmodifiedSince:           "If-Unmodified-Since",
	HeaderLastEventID:                 "Last-Event-Id",
	HeaderMaxForwards:                 "Max-Forwards",
	HeaderOrigin:                      "Origin",
	HeaderPragma:                      "Pragma",
	HeaderPriority:                    "Priority",
	HeaderProxyAuthorization:          "Proxy-Authorization",
	HeaderRange:                       "Range",
	HeaderReferer:                     "Referer",
	HeaderSecCHUA:                     "Sec-Ch-Ua",
	HeaderSecCHUAMobile:               "Sec-Ch-Ua-Mobile",
	HeaderSecCHUAPlatform:             "Sec-Ch-Ua-Platform",
	HeaderSecFetchDest:                "Sec-Fetch-Dest",
	HeaderSecFetchMode:                "Sec-Fetch-Mode",
	HeaderSecFetchSite:                "Sec-Fetch-Site",
	HeaderSecFetchUser:                "Sec-Fetch-User",
	HeaderSecWebSocketExtensions:      "Sec-Websocket-Extensions",
	HeaderSecWebSocketKey:             "Sec-Websocket-Key",
	HeaderSecWebSocketProtocol:        "Sec-Websocket-Protocol",
	HeaderSecWebSocketVersion:         "Sec-Websocket-Version",
	HeaderTraceparent:                 "Traceparent",
	HeaderUpgradeInsecureRequests:     "Upgrade-Insecure-Requests",
	HeaderUserAgent:                   "User-Agent",
	HeaderVia:                         "Via",
	HeaderXForwardedFor:               "X-Forwarded-For",
	HeaderXForwardedHost:              "X-Forwarded-Host",
	HeaderXForwardedProto:             "X-Forwarded-Proto",
	HeaderXRealIP:                     "X-Real-Ip",
	HeaderXRequestID:                  "X-Request-Id",
	HeaderXRequestedWith:              "X-Requested-With",
}

// String returns the header's name in the canonical form of net/http, and the
// empty string for [HeaderOther].
func (id HeaderID) String() string {
	if int(id) >= len(headerNames) {
		return fmt.Sprintf("HeaderID(%d)", uint8(id))
	}
	return headerNames[id]
}

// A name is recognised by its length and by two words loaded from its ends,
// folded to lower case with one OR. The words overlap in names of less than 16
// bytes, are the same in names of up to 8, and leave a gap in names beyond 16 bytes,
// which two more words close:
//
//	content-length (14)                 upgrade-insecure-requests (25)
//	[ head ]                            [ head ]
//	      [ tail ]                                       [ tail ]
//	                                            [ mid0 ]
//	                                             [ mid1 ]
//
// OR 0x20 folds letters and does not change '-' and digits. It would also map control
// characters to some of those, so the name has to be a token.
type nameEnds struct {
	head, tail uint64
	length, id uint32
}

const (
	fold = 0x2020202020202020

	// hashMul spreads the known names over the slots without a collision, which
	// init checks. Found by trying odd numbers at random.
	hashMul  = 0xeb7015a1066d54f1
	hashBits = 8

	maxKnownName = 32 // what four words cover
)

var (
	nameSlots [1 << hashBits]nameEnds
	nameMids  [64][2]uint64 // by ID; for names beyond 16 bytes
)

func init() {
	for id := 1; id < NumHeaders; id++ {
		name := []byte(headerNames[id])
		head, tail := endWords(name)
		slot := &nameSlots[nameSlot(head, tail)]
		if slot.id != 0 || len(name) > maxKnownName {
			panic("exchange: header " + headerNames[id] + " does not fit the table of names: choose another hashMul")
		}
		*slot = nameEnds{head: head, tail: tail, length: uint32(len(name)), id: uint32(id)}
		if len(name) > 16 {
			mid0, mid1 := midWords(name)
			nameMids[id] = [2]uint64{mid0, mid1}
		}
	}
}

// endWords returns the folded words at both ends of a name of one byte or more. Those of a
// short name are padded with zeros, which are folded too.
func endWords(name []byte) (head, tail uint64) {
	n := len(name)
	if n >= 8 {
		return binary.LittleEndian.Uint64(name) | fold, binary.LittleEndian.Uint64(name[n-8:]) | fold
	}
	for i := n - 1; i >= 0; i-- {
		head = head<<8 | uint64(name[i])
	}
	return head | fold, head | fold
}

// EndWords returns the words that [LookupWords] needs for the name buf[begin:end], of one
// byte or more. It reads, without a branch on the name's length, the eight bytes from begin
// on and the eight before end, which have to be in buf.
func EndWords(buf []byte, begin, end int) (head, tail uint64) {
	beyond := uint(max(64-8*(end-begin), 0)) & 63 // bits of either word that do not belong to the name
	head = binary.LittleEndian.Uint64(buf[begin:]) << beyond >> beyond
	tail = binary.LittleEndian.Uint64(buf[end-8:]) >> beyond
	return head | fold, tail | fold
}

// midWords returns the folded words in the gap of a name of 17 to 32 bytes.
func midWords(name []byte) (mid0, mid1 uint64) {
	return binary.LittleEndian.Uint64(name[8:]) | fold, binary.LittleEndian.Uint64(name[len(name)-16:]) | fold
}

func nameSlot(head, tail uint64) uint8 {
	return uint8((head ^ tail>>3 ^ tail<<17) * hashMul >> (64 - hashBits))
}

// MaxWordsName is the length in bytes of the longest names that [LookupWords] can
// distinguish.
const MaxWordsName = 16

// LookupWords is [LookupHeader] for a name of 1 to [MaxWordsName] bytes, n, with what
// [EndWords] returned. Both are small enough to be inlined.
func LookupWords(head, tail uint64, n int) HeaderID {
	slot := &nameSlots[nameSlot(head, tail)]
	if (slot.head^head)|(slot.tail^tail)|(uint64(slot.length)^uint64(n)) != 0 {
		return HeaderOther
	}
	return HeaderID(slot.id)
}

// LookupHeader returns the ID of a header by its name, ignoring case, or [HeaderOther]. The
// name must be a token (RFC 9110, 5.6.2): for other bytes the result is meaningless. It
// costs a few nanoseconds and reads only name.
func LookupHeader(name []byte) HeaderID {
	if len(name) == 0 {
		return HeaderOther
	}
	head, tail := endWords(name)
	id := LookupWords(head, tail, len(name))
	if id != HeaderOther && len(name) > MaxWordsName {
		if mid0, mid1 := midWords(name); nameMids[id&63] != [2]uint64{mid0, mid1} {
			return HeaderOther
		}
	}
	return id
}
