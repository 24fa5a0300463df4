package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	largestRaw    = 256 << 20 // limit on a profile without its compression, in bytes
	largestMemory = 1 << 30   // limit on the estimated memory of a parsed profile, in bytes
)

// ErrTooLarge is the error for a profile that would need too much memory. Take a shorter
// profile, or one at a lower rate.
var ErrTooLarge = errors.New("too large")

// Decode parses a profile in the format of pprof, compressed with gzip or not, and validates
// it. It needs at most about 2 GiB of memory, whatever the data: what the parsed profile will
// need is estimated before it is parsed, and [ErrTooLarge] is returned if that is too much. The
// text format of old C++ profilers is not supported.
func Decode(data []byte) (*profile.Profile, error) {
	p, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("parse profile of %d bytes: %w", len(data), err)
	}
	return p, nil
}

func decode(data []byte) (*profile.Profile, error) {
	if len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b {
		gz, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(gz, largestRaw+1)); err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if len(data) > largestRaw {
		return nil, fmt.Errorf("%w: more than %d MiB without compression", ErrTooLarge, largestRaw>>20)
	}
	need, err := memory(data)
	if err != nil {
		return nil, err
	}
	if need > largestMemory {
		return nil, fmt.Errorf("%w: it would need %d MiB of memory", ErrTooLarge, need>>20)
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	return p, err
}

// Bytes of memory for each part of a parsed profile, including what the parser uses and
// discards. They are the sizes of its types, about doubled.
const (
	sampleMemory   = 320
	numberMemory   = 48 // a location or a value of a sample
	labelMemory    = 200
	mappingMemory  = 400
	locationMemory = 300
	lineMemory     = 100
	functionMemory = 300
	stringMemory   = 48
	commentMemory  = 32
)

// Fields of the messages Profile, Sample and Location of profile.proto.
const (
	fieldSampleType, fieldSample, fieldMapping, fieldLocation, fieldFunction, fieldString, fieldComment = 1, 2, 3, 4, 5, 6, 13

	fieldSampleLocation, fieldSampleValue, fieldSampleLabel = 1, 2, 3
	fieldLocationLine                                       = 4
)

// memory estimates the memory that a profile will need when it is parsed. Two bytes of data can
// be a sample of hundreds of bytes. The walk itself needs no memory.
func memory(data []byte) (need int64, err error) {
	err = fields(data, func(field protowire.Number, body []byte) error {
		switch field {
		case fieldSample:
			n, err := sampleNeeds(body)
			need += n
			return err
		case fieldLocation:
			need += locationMemory
			return fields(body, func(inner protowire.Number, _ []byte) error {
				if inner == fieldLocationLine {
					need += lineMemory
				}
				return nil
			})
		case fieldSampleType:
			need += stringMemory
		case fieldMapping:
			need += mappingMemory
		case fieldFunction:
			need += functionMemory
		case fieldString:
			need += stringMemory + int64(len(body))
		case fieldComment:
			need += commentMemory * varints(body)
		}
		return nil
	})
	return need, err
}

func sampleNeeds(body []byte) (need int64, err error) {
	need = sampleMemory
	err = fields(body, func(field protowire.Number, inner []byte) error {
		switch field {
		case fieldSampleLocation, fieldSampleValue:
			need += numberMemory * varints(inner)
		case fieldSampleLabel:
			need += labelMemory
		}
		return nil
	})
	return need, err
}

// varints returns the number of varints in a packed list, and 1 for a single number.
func varints(body []byte) (n int64) {
	for _, b := range body {
		if b < 0x80 {
			n++
		}
	}
	return max(n, 1)
}

// fields calls see with the fields of a message. body is nil for a number.
func fields(data []byte, see func(field protowire.Number, body []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var body []byte
		if kind == protowire.BytesType {
			body, n = protowire.ConsumeBytes(data)
		} else {
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := see(field, body); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
