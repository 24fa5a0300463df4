package pushtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A Message is what a client reads from a stream.
type Message struct {
	Topic string
	ID    string // "" leaves what the client resumes from as it is
	Type  string
	Data  []byte // of NDJSON: without the white space around JSON
	Gap   *Gap   // of the type hub:gap
	Bye   *Bye   // of the type hub:bye
	Beat  bool   // a sign of life, and nothing else
	Retry time.Duration
}

// A Gap is the data of the type hub:gap.
type Gap struct {
	From, To string
	Dropped  int
	Reason   string
}

// A Bye is the data of the type hub:bye.
type Bye struct {
	Reason  string
	RetryMS int64 `json:"retry_ms"`
}

// maxMessage bounds what a decoder accepts, in bytes.
const maxMessage = 64 << 20

// NewDecoder returns a function that reads the next message of a stream in a format, which
// is named as in the query. It shares no code with the encoders. Its error is io.EOF at the
// end of a message, and io.ErrUnexpectedEOF within one.
func NewDecoder(format string, r io.Reader) (next func() (Message, error), err error) {
	b := bufio.NewReader(r)
	switch format {
	case "sse":
		return func() (Message, error) { return decodeSSE(b) }, nil
	case "ndjson":
		return func() (Message, error) { return decodeNDJSON(b) }, nil
	case "protobuf":
		return func() (Message, error) { return decodeProtobuf(b) }, nil
	}
	return nil, fmt.Errorf("no decoder for the format %q: use sse, ndjson or protobuf", format)
}

// line reads a line without its end, which is LF.
func line(b *bufio.Reader) (string, error) {
	var text []byte
	for {
		part, err := b.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == bufio.ErrBufferFull && len(text) < maxMessage:
		case err == io.EOF && len(text) > 0:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		default:
			return string(text[:len(text)-1]), nil
		}
	}
}

// decodeSSE reads a block of the event stream as EventSource does, for streams whose lines
// end with LF (HTML Living Standard, 9.2.6).
func decodeSSE(b *bufio.Reader) (m Message, err error) {
	var data []string
	for n := 0; ; n++ {
		text, err := line(b)
		if err != nil {
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		if strings.Contains(text, "\r") {
			return m, fmt.Errorf("line %q has a CR", text)
		}
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(text, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			m.Beat = n == 0
			continue
		case "id":
			m.ID = value
		case "event":
			m.Type = value
		case "topic":
			m.Topic = value
		case "data":
			data = append(data, value)
		case "retry":
			ms, err := strconv.Atoi(value)
			if err != nil {
				return m, err
			}
			m.Retry = time.Duration(ms) * time.Millisecond
		default:
			return m, fmt.Errorf("unknown field %q", text)
		}
		m.Beat = false
	}
	m.Data = []byte(strings.Join(data, "\n"))
	return m, m.reserved(m.Data)
}

// reserved decodes the data of the hub's own types.
func (m *Message) reserved(data []byte) error {
	switch m.Type {
	case "hub:gap":
		m.Gap = new(Gap)
		return strict(data, m.Gap)
	case "hub:bye":
		m.Bye = new(Bye)
		return strict(data, m.Bye)
	case "hub:start":
		var start struct {
			RetryMS int64 `json:"retry_ms"`
		}
		err := strict(data, &start)
		*m = Message{ID: m.ID, Retry: time.Duration(start.RetryMS) * time.Millisecond}
		return err
	}
	return nil
}

func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

func decodeNDJSON(b *bufio.Reader) (m Message, err error) {
	text, err := line(b)
	if err != nil || text == "" {
		return Message{Beat: err == nil}, err
	}
	var object struct {
		Topic, ID, Type string
		JSON            bool
		Data            json.RawMessage
		Base64          []byte
	}
	if err := strict([]byte(text), &object); err != nil {
		return m, fmt.Errorf("line %q: %w", text, err)
	}
	m = Message{Topic: object.Topic, ID: object.ID, Type: object.Type, Data: object.Data}
	var s string
	switch {
	case object.Base64 != nil:
		m.Data = object.Base64
	case len(object.Data) > 0 && object.Data[0] == '"' && !object.JSON:
		if err := json.Unmarshal(object.Data, &s); err != nil {
			return m, err
		}
		m.Data = []byte(s)
	}
	return m, m.reserved(object.Data)
}

func decodeProtobuf(b *bufio.Reader) (m Message, err error) {
	n, err := binary.ReadUvarint(b)
	switch {
	case err != nil:
		return m, err
	case n == 0:
		return Message{Beat: true}, nil
	case n > maxMessage:
		return m, fmt.Errorf("message of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(b, body); err != nil {
		return m, io.ErrUnexpectedEOF
	}
	err = fields(body, func(field int, text []byte, number uint64) error {
		switch field {
		case 7:
			m.Type = "" // as where a format has a place for it
			return fields(text, func(_ int, _ []byte, number uint64) error {
				m.Retry = time.Duration(number) * time.Millisecond
				return nil
			})
		case 1:
			m.Topic = string(text)
		case 2:
			m.ID = string(text)
		case 3:
			m.Type = string(text)
		case 4:
			m.Data = text
		case 5:
			m.Gap = new(Gap)
			return fields(text, m.Gap.field)
		case 6:
			m.Bye = new(Bye)
			return fields(text, m.Bye.field)
		default:
			return fmt.Errorf("unknown field %d", field)
		}
		return nil
	})
	return m, err
}

func (g *Gap) field(field int, text []byte, number uint64) error {
	switch field {
	case 1:
		g.From = string(text)
	case 2:
		g.To = string(text)
	case 3:
		g.Dropped = int(number)
	case 4:
		g.Reason = string(text)
	}
	return nil
}

func (y *Bye) field(field int, text []byte, number uint64) error {
	switch field {
	case 1:
		y.Reason = string(text)
	case 2:
		y.RetryMS = int64(number)
	}
	return nil
}

var errWire = errors.New("not a message of protocol buffers")

// fields calls f for each field of a message.
func fields(body []byte, f func(field int, text []byte, number uint64) error) error {
	for len(body) > 0 {
		tag, n := binary.Uvarint(body)
		if n <= 0 {
			return errWire
		}
		v, k := binary.Uvarint(body[n:])
		if k <= 0 {
			return errWire
		}
		body = body[n+k:]
		var text []byte
		switch tag & 7 {
		case 0:
		case 2:
			if v > uint64(len(body)) {
				return errWire
			}
			text, body = body[:v:v], body[v:]
		default:
			return errWire
		}
		if err := f(int(tag>>3), text, v); err != nil {
			return err
		}
	}
	return nil
}
