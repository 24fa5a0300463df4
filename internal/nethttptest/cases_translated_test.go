package nethttptest

import (
	"slices"
	"strings"
)

// translatedTrials are those whose scripts mean the same over HTTP/2.
func translatedTrials() (all []trial) {
	for _, tr := range slices.Concat(requestTrials, framingTrials, bodyTrials, responseTrials, streamTrials, muxTrials, fileTrials, formTrials, contextTrials) {
		if tr.refuses != "" || tr.bare || !translatable(&tr) || onlyHTTP1(tr.name) {
			continue
		}
		tr.http2, tr.differs = true, reasonOver2(tr.name)
		tr.name = prefix2 + tr.name
		all = append(all, tr)
	}
	return all
}

// translatable reports whether a trial is one request that means the same over HTTP/2.
func translatable(tr *trial) bool {
	const window = 65535 // nobody waits for the server's WINDOW_UPDATE
	if tr.send != "" {
		return len(tr.send) < window && speaksBoth(tr.send)
	}
	return strings.Contains(tr.name, "HEAD") && len(tr.play) == len(head("/"))
}

// prefix2 begins the names of trials over HTTP/2.
const prefix2 = "HTTP/2: "

// onlyHTTP1 reports whether a script is about the syntax, or about the connection.
func onlyHTTP1(name string) bool {
	return slices.ContainsFunc(http1Names, func(s string) bool { return strings.Contains(name, s) })
}

var http1Names = []string{
	"1.0",
	"with length, too short a body",           // how much is sent before the reset is a matter of time
	"trailers: malformed", "length with plus", // so is whether the handler is called
	"trailers: not read",           // and whether net/http has forgotten the stream when they come
	"trailers out: forbidden ones", // the client of net/http cannot read them
	"framing: different lengths", "length and bad coding",
}
