package http2

// What a frame costs, in points. A point is about what the server spends on a small frame;
// achievements give points back.
const (
	costFrame  = 1  // ignored, or noted
	costAnswer = 2  // answered by a frame of ours
	costReset  = 10 // a stream that was opened for nothing; also one that we had to reset

	windowsPoint = 4 // streams whose windows SETTINGS change for a point

	gainExchange = 10  // a response was completed
	gainBytes    = 256 // bytes of content, either way, that give a point back

	maxPoints = 4000

	workBytes = 64 // bytes of a head that are as much work as a frame, at most
)

// abuse counts what a connection costs beyond what it achieves: floods of PING, SETTINGS,
// RST_STREAM (CVE-2023-44487; also those that the server sends itself, CVE-2025-8671), empty
// DATA and similar ones.
type abuse struct {
	points int
	bytes  int // not yet given back
}

// spend counts a cost, and ends a connection that has spent too much.
func (s *Session) spend(points int) error {
	if s.credit.points += points; s.credit.points > maxPoints {
		return connError{EnhanceYourCalm, "too many frames that achieve nothing"}
	}
	return nil
}

// gain gives points back.
func (s *Session) gain(points int) {
	s.credit.points = max(s.credit.points-points, 0)
}

// moved counts content that was received or sent.
func (s *Session) moved(n int) {
	if s.credit.points == 0 {
		return
	}
	s.credit.bytes += n
	s.gain(s.credit.bytes / gainBytes)
	s.credit.bytes %= gainBytes
}

// spendWindow counts a WINDOW_UPDATE: small ones cost more than what they let us send.
func (s *Session) spendWindow(n int64) error {
	if n >= gainBytes {
		return nil
	}
	return s.spend(costFrame)
}
