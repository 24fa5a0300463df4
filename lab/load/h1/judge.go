package h1

import "bytes"

// Judge holds one answer after the other against Rules, whatever protocol brings
// them.
type Judge struct {
	Rules *Rules
	Check bool   // the present answer's body is compared
	Count uint32 // final answers begun

	wrong Verdict // first complaint about this answer, More if none
	pos   int64   // bytes of the body so far
}

// Begin takes the status of a final answer.
func (j *Judge) Begin(status int) {
	j.wrong, j.pos = More, 0
	if j.Rules.Status != 0 && status != j.Rules.Status {
		j.wrong = BadStatus
	}
	j.Check = !j.Rules.AnyBody && (len(j.Rules.Body) <= smallBody || j.Count%sampled == 0)
	j.Count++
}

// Take takes bytes of the body.
func (j *Judge) Take(b []byte) {
	end := j.pos + int64(len(b))
	if j.Check && j.wrong == More && end <= int64(len(j.Rules.Body)) && !bytes.Equal(b, j.Rules.Body[j.pos:end]) {
		j.wrong = BadBody
	}
	j.pos = end
}

// Over reports whether the body is longer than one without an announced length may
// be.
func (j *Judge) Over() bool { return j.Rules.MaxBody > 0 && j.pos > j.Rules.MaxBody }

// End is the verdict on a complete answer: Right, or what is wrong with it. The
// answer to HEAD is bodiless.
func (j *Judge) End(bodiless bool) Verdict {
	if !j.Rules.AnyBody && !bodiless && j.wrong != BadStatus && j.pos != int64(len(j.Rules.Body)) {
		j.wrong = BadLength
	}
	if j.wrong != More {
		return j.wrong
	}
	return Right
}
