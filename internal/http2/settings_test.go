package http2

import (
	"fmt"
	"testing"
)

// windows is SETTINGS that change the initial window n times.
func windows(n int, last uint32) (b []byte) {
	for i := range n - 1 {
		b = appendSetting(b, settingInitialWindow, uint32(i%2)<<30)
	}
	return appendSetting(b, settingInitialWindow, last)
}

// TestSettings takes only a frame's last initial window over, and charges for what changes: each
// change visits all streams.
func TestSettings(t *testing.T) {
	const streams = 200
	for name, c := range map[string]struct {
		window func(i int) uint32 // of the i-th frame
		most   int                // frames that a client may send
		work   int                // for each
	}{
		"same":    {func(int) uint32 { return 7 }, maxPoints / costAnswer, 1},
		"changes": {func(i int) uint32 { return uint32(i) }, maxPoints / (costAnswer + streams/windowsPoint), 1 + streams},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			client := newSpender(t, release)
			for range streams {
				client.headers(true, "/wait", nil)
			}
			client.frame(frameSettings, 0, 0, windows(1, 7))
			before, _, _ := client.s.cost()
			frames := 0
			for ; frames < 2*c.most && !client.over; frames++ {
				client.frame(frameSettings, 0, 0, windows(2730, c.window(frames)))
			}
			work, _, _ := client.s.cost()
			if frames > c.most || frames < c.most/2 || work-before > frames*c.work {
				t.Errorf("%d frames make %d units of work, want at most %d frames with %d each", frames, work-before, c.most, c.work)
			}
		})
	}
	t.Run("windows", func(t *testing.T) { // they are what the last one says
		p := newPeer(t, 3, handlers)
		p.frame(frameSettings, 0, 0, windows(5, 3)).get(1, "/large").run()
		p.wait("three bytes come", func() bool { return len(p.reply(1).body) == 3 })
		p.initial = 3
		p.close()
	})
}

// TestFaultySettings ends connections because of values that are not allowed, also where a later
// one of the same frame would be.
func TestFaultySettings(t *testing.T) {
	for _, c := range []struct {
		id    uint16
		value uint32
		code  Code
	}{
		{settingEnablePush, 2, ProtocolError},
		{settingEnableConnect, 2, ProtocolError},
		{settingNoOldPriority, 2, ProtocolError}, // RFC 9218, 2.1
		{settingMaxFrame, defaultMaxFrame - 1, ProtocolError},
		{settingInitialWindow, 1 << 31, FlowControlError},
	} {
		t.Run(fmt.Sprint(c.id), func(t *testing.T) {
			p := newPeer(t, 4, routes{})
			p.frame(frameSettings, 0, 0, appendSetting(appendSetting(nil, c.id, c.value), c.id, defaultMaxFrame&^1))
			p.wantGone(c.code)
		})
	}
	for _, value := range []uint32{0, 1} {
		p := newPeer(t, 4, routes{})
		p.frame(frameSettings, 0, 0, appendSetting(nil, settingNoOldPriority, value))
		p.alive(1)
		p.close()
	}
}
