package h1

import (
	"bytes"
	"hash/crc32"
)

// Judge compares responses with Rules, one after the other, for any protocol.
type Judge struct {
	Rules *Rules
	Check bool   // the current response's body is compared
	Count uint32 // final responses begun

	wrong Verdict // first error of this response, More if none
	taken bool    // this response is in Rules.Sample
	sum   uint32  // checksum of its body's beginning
	pos   int64   // bytes of the body so far
}

// Begin receives the status of a final response.
func (j *Judge) Begin(status int) {
	j.wrong, j.pos = More, 0
	if j.Rules.Status != 0 && status != j.Rules.Status {
		j.wrong = BadStatus
	}
	j.Check = !j.Rules.AnyBody && (len(j.Rules.Body) <= smallBody || j.Count%sampled == 0)
	j.Count++
	if j.Rules.Sample != nil {
		j.taken, j.sum = j.Rules.Sample.next(), 0
	}
}

// Take receives bytes of the body.
func (j *Judge) Take(b []byte) {
	end := j.pos + int64(len(b))
	if j.Check && j.wrong == More && end <= int64(len(j.Rules.Body)) && !bytes.Equal(b, j.Rules.Body[j.pos:end]) {
		j.wrong = BadBody
	}
	if j.taken && j.pos < sampledBytes {
		j.sum = crc32.Update(j.sum, sampledTable, b[:min(int64(len(b)), sampledBytes-j.pos)])
	}
	j.pos = end
}

// Size returns how many bytes of the current body were taken.
func (j *Judge) Size() int64 { return j.pos }

// Over reports whether the body exceeds the limit for an unannounced length.
func (j *Judge) Over() bool { return j.Rules.MaxBody > 0 && j.pos > j.Rules.MaxBody }

// End returns the verdict on a complete response: Right, or its error. The response to HEAD
// is bodiless.
func (j *Judge) End(bodiless bool) Verdict {
	if !j.Rules.AnyBody && !bodiless && j.wrong != BadStatus && j.pos != int64(len(j.Rules.Body)) {
		j.wrong = BadLength
	}
	if j.wrong != More {
		return j.wrong
	}
	if j.taken {
		j.Rules.Sample.add(j.pos, j.sum)
	}
	return Right
}
