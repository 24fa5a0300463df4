package nethttptest

import (
	"net/http"
)

// connTrials2 are about frames that concern the connection, or come where they must not.
var connTrials2 = []trial{
	with2("settings: none", hello(), over2("", text("ok"), get2())),
	with2("settings: with length 5", preface+frame(frameSettings, 0, 0, "12345"), over2("", text("ok"), get2())),
	with2("settings: on a stream", preface+frame(frameSettings, 0, 1, ""), over2("", text("ok"), get2())),
	with2("settings: not the first frame", preface+frame(framePing, 0, 0, "12345678"), over2("", text("ok"), get2())),
	with2("settings: ENABLE_PUSH of 2", hello(setting(2, 2)), over2("", text("ok"), get2())),
	with2("settings: window too large", hello(setting(4, 1<<31)), over2("", text("ok"), get2())),
	with2("settings: frames too small", hello(setting(5, 100)), over2("", text("ok"), get2())),
	with2("settings: frames too large", hello(setting(5, 1<<24)), over2("", text("ok"), get2())),
	with2("settings: unknown ones", hello(setting(99, 7), setting(0, 1)), over2("", text("ok"), get2())),
	with2("settings: ENABLE_CONNECT_PROTOCOL of 2", hello(setting(8, 2)), over2("", text("ok"), get2())),
	with2("settings: no dynamic table", hello(setting(1, 0)), over2("", answers(0, []string{"X-A", "b"}, "ok"), get2())),
	over2("settings: acknowledged with payload", text("ok"), frame(frameSettings, flagAck, 0, "123456")),
	over2("settings: acknowledged", text("ok"), frame(frameSettings, flagAck, 0, "")+get2()),
	over2("settings: again", text("ok"), frame(frameSettings, 0, 0, setting(3, 1))+get2()),
	over2("ping: answered", text("ok"), frame(framePing, 0, 0, "12345678")+get2()),
	over2("ping: acknowledgement", text("ok"), frame(framePing, flagAck, 0, "12345678")+get2()),
	over2("ping: too short", text("ok"), frame(framePing, 0, 0, "1234567")),
	over2("ping: on a stream", text("ok"), frame(framePing, 0, 1, "12345678")),
	over2("unknown frame", text("ok"), frame(77, 255, 5, "hello")+get2()),
	over2("unknown flags", text("ok"), frame(framePing, 254, 0, "12345678")+get2()),
	over2("reserved bit", text("ok"), frame(frameHeaders, flagEnd|flagWhole, 1|1<<31, block(usual("GET", "/")...))),
	over2("priority: on an idle stream", text("ok"), frame(framePriority, 0, 5, word(0)+"\x10")+get2()),
	over2("priority: on stream 0", text("ok"), frame(framePriority, 0, 0, word(0)+"\x10")),
	over2("priority: too short", text("ok"), frame(framePriority, 0, 5, word(0))),
	over2("priority: depends on itself", text("ok"), frame(framePriority, 0, 5, word(5)+"\x10")),
	over2("priority: HEADERS that depend on themselves", text("ok"), frame(frameHeaders, flagEnd|flagWhole|flagPriority, 1, word(1)+"\x10"+block(usual("GET", "/")...))),
	over2("push: from a client", text("ok"), frame(framePush, flagWhole, 1, word(2))),
	over2("goaway: from the client", text("ok"), get2()+frame(frameGoAway, 0, 0, word(0)+word(0))),
	play2("goaway: with an error", text("ok"), raw(frame(frameGoAway, 0, 0, word(0)+word(2))+get2())),
	over2("goaway: on a stream", text("ok"), frame(frameGoAway, 0, 1, word(0)+word(0))),
	over2("goaway: too short", text("ok"), frame(frameGoAway, 0, 0, word(0))),
	over2("frame: too long", text("ok"), frame(77, 0, 0, large[:1<<20-1]+large)),
	over2("frame: 16 KiB and one byte", text("ok"), opens(1, "/")+frame(frameData, 0, 1, large[:1<<14+1])),
	over2("headers: on stream 0", text("ok"), heads(0, flagEnd, usual("GET", "/")...)),
	over2("headers: on an even stream", text("ok"), heads(2, flagEnd, usual("GET", "/")...)),
	play2("headers: on a lower stream", text("ok"), raw(asks(3, "GET", "/")), hear(1), raw(asks(1, "GET", "/")), hear(2)),
	play2("headers: on a stream that has ended", text("ok"), raw(get2()), hear(1), raw(get2()), hear(2)),
	over2("headers: too much padding", text("ok"), frame(frameHeaders, flagEnd|flagWhole|flagPadded, 1, "\xff"+block(usual("GET", "/")...))),
	over2("headers: malformed block", text("ok"), frame(frameHeaders, flagEnd|flagWhole, 1, "\xff\xff\xff\xff\xff\xff\xff\xff")),
	over2("headers: index beyond the tables", text("ok"), frame(frameHeaders, flagEnd|flagWhole, 1, "\xfe")),
	over2("headers: cut within a field", text("ok"), frame(frameHeaders, flagEnd|flagWhole, 1, block(usual("GET", "/")...)+"\x00\x05ab")),
	over2("headers: table too large", text("ok"), frame(frameHeaders, flagEnd|flagWhole, 1, "\x3f\xff\xff\x03"+block(usual("GET", "/")...))),
	over2("continuation: without HEADERS", text("ok"), frame(frameContinuation, flagWhole, 1, "")),
	over2("continuation: of another stream", text("ok"), frame(frameHeaders, flagEnd, 1, block(usual("GET", "/")...))+frame(frameContinuation, flagWhole, 3, "")),
	over2("continuation: interrupted", text("ok"), frame(frameHeaders, flagEnd, 1, block(usual("GET", "/")...))+frame(framePing, 0, 0, "12345678")),
	over2("data: on stream 0", text("ok"), data(0, "hello")),
	over2("data: on an idle stream", text("ok"), data(1, "hello")),
	over2("data: too much padding", quiet, opens(1, "/")+frame(frameData, flagPadded, 1, "\x09hello")),
	play2("data: on a stream that has ended", text("ok"), raw(get2()), hear(1), raw(data(1, "hello")), raw(asks(3, "GET", "/")), hear(2)),
	play2("data: after END_STREAM", waits2, raw(get2()), pass("called"), raw(data(1, "hello")), hear(1), open("go")),
	play2("headers: after END_STREAM", waits2, raw(get2()), pass("called"), raw(heads(1, flagEnd, "x-a", "b")), hear(1), open("go")),
	play2("half-closed by the client", look, raw(get2()), hear(1), raw(asks(3, "GET", "/b")), hear(2)),
	play2("client closes its half of the connection", text("ok"), raw(get2()), hear(1), half()),
	play2("streams side by side", gatedByPath, raw(asks(1, "GET", "/a")+asks(3, "GET", "/b")+asks(5, "GET", "/c")), open("/b"), pass("done /b"), open("/c"), pass("done /c"), open("/a"), hear(3)),
}

// with2 is a trial with a name and another preface.
func with2(name, hello string, tr trial) trial {
	tr.name, tr.hello = prefix2+name, hello
	return tr
}

// waits2 waits, and writes nothing.
func waits2(o *observer, _ http.ResponseWriter, _ *http.Request) {
	o.open("called")
	o.pass("go")
}

// gatedByPath answers when the gate of the path is open.
func gatedByPath(o *observer, w http.ResponseWriter, r *http.Request) {
	o.pass(r.URL.Path)
	put(o, w, "answer to "+r.URL.Path)
	o.note("%s", r.URL.Path)
	o.open("done " + r.URL.Path)
}

// windowTrials2 are about flow control.
var windowTrials2 = []trial{
	with2("window: small", hello(setting(4, 10)), play2("", text("0123456789abcdefghij"), raw(get2()), hearText("0123456789"), raw(frame(frameWindow, 0, 1, word(10))), hear(1))),
	with2("window: zero, then opened by SETTINGS", hello(setting(4, 0)), play2("", text("0123456789"), raw(get2()), hearHead(1), raw(frame(frameSettings, 0, 0, setting(4, 4))), hearText("0123"), raw(frame(frameSettings, 0, 0, setting(4, 100))), hear(1))),
	with2("window: made negative by SETTINGS", hello(setting(4, 10)), play2("", text("0123456789abcdefghij"), raw(get2()), hearText("0123456789"), raw(frame(frameSettings, 0, 0, setting(4, 5)), frame(frameWindow, 0, 1, word(8))), hearText("0123456789abc"), raw(frame(frameWindow, 0, 1, word(100))), hear(1))),
	with2("window: of the connection", hello(setting(4, 1<<20)), play2("", answers(0, nil, large[:100_000]), raw(get2()), hearBytes(65535), raw(frame(frameWindow, 0, 0, word(1<<20))), hear(1))),
	with2("window: zero, no body", hello(setting(4, 0)), over2("", answers(204, nil), get2())),
	play2("window: update by zero", readUntilGone, raw(opens(1, "/")), pass("called"), raw(frame(frameWindow, 0, 1, word(0))), hear(1)),
	over2("window: update by zero of the connection", text("ok"), frame(frameWindow, 0, 0, word(0))),
	play2("window: too large", readUntilGone, raw(opens(1, "/")), pass("called"), raw(frame(frameWindow, 0, 1, word(1<<31-1))), hear(1)),
	over2("window: too large for the connection", text("ok"), frame(frameWindow, 0, 0, word(1<<31-1))),
	over2("window: update too short", text("ok"), frame(frameWindow, 0, 0, "123")),
	over2("window: update of an idle stream", text("ok"), frame(frameWindow, 0, 7, word(5))),
	play2("window: update of a stream that has ended", text("ok"), raw(get2()), hear(1), raw(frame(frameWindow, 0, 1, word(5)), asks(3, "GET", "/")), hear(2)),
	play2("window: update by zero of a stream that has ended", text("ok"), raw(get2()), hear(1), raw(frame(frameWindow, 0, 1, word(0)), asks(3, "GET", "/")), hear(2)),
}

// resetTrials2 are about streams that end early.
var resetTrials2 = []trial{
	play2("reset: while the handler runs", untilGone, raw(get2()), pass("called"), raw(frame(frameReset, 0, 1, word(8)))),
	play2("reset: while it reads", func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.open("called")
		o.read(r.Body)
		o.await(r.Context().Done(), "the client to leave")
		o.err("context", r.Context().Err())
	}, raw(opens(1, "/")+data(1, "hello")), pass("called"), raw(frame(frameReset, 0, 1, word(8)))),
	with2("reset: while it writes", hello(setting(4, 10)), play2("", func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "0123456789")
		flush(w)
		n, err := w.Write([]byte(large))
		o.note("written whole %v: %s", n == len(large), describe(err))
		o.await(r.Context().Done(), "the client to leave")
	}, raw(get2()), hearText("0123456789"), raw(frame(frameReset, 0, 1, word(8))))),
	over2("reset: of an idle stream", text("ok"), frame(frameReset, 0, 1, word(8))),
	over2("reset: on stream 0", text("ok"), frame(frameReset, 0, 0, word(8))),
	play2("reset: too short", untilGone, raw(get2()), pass("called"), raw(frame(frameReset, 0, 1, "123")), end()),
	play2("reset: of a stream that has ended", text("ok"), raw(get2()), hear(1), raw(frame(frameReset, 0, 1, word(8)), asks(3, "GET", "/")), hear(2)),
	play2("reset: the client goes while the handler runs", untilGone, raw(get2()), pass("called"), leave()),
	over2("panic: before the answer", func(*observer, http.ResponseWriter, *http.Request) { panic("oops") }, get2()),
	over2("panic: within the answer", func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "hello")
		flush(w)
		panic("oops")
	}, get2()),
	over2("panic: ErrAbortHandler", func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "hello")
		flush(w)
		panic(http.ErrAbortHandler)
	}, get2()),
	over2("panic: with content to come", func(*observer, http.ResponseWriter, *http.Request) { panic("oops") }, opens(1, "/")),
	over2("close: by the handler", answers(0, []string{"Connection", "close"}, "ok"), get2()),
	play2("close: by the handler, before the end", func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		put(o, w, "hello, ")
		flush(w)
		o.pass("told")
		put(o, w, "goodbye")
	}, raw(get2()), hearGoAway(), open("told"), hear(1)),
	over2("hijack", func(o *observer, w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		o.note("hijack fails %v", err != nil)
		put(o, w, "ok")
	}, get2()),
}
