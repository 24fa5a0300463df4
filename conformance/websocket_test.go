package conformance

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
)

// Opcodes of WebSocket (RFC 6455, 5.2), with the bit that says that a frame is a whole message.
const (
	wsText  = 0x81
	wsClose = 0x88
)

// webSocket sends the messages of a WebSocket back, over a stream of HTTP/2 (RFC 8441, 5).
func webSocket(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Header.Get(":protocol") != "websocket" {
		http.Error(w, "this is for extended CONNECT", http.StatusBadRequest)
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex()
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush()
	for {
		op, message, err := readFrame(r.Body)
		if err != nil {
			return
		}
		if err := writeFrame(w, op, message); err != nil || rc.Flush() != nil || op == wsClose {
			return
		}
	}
}

// readFrame reads a client's frame, which is masked, of 64 KiB at most.
func readFrame(r io.Reader) (op byte, message []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return 0, nil, err
	}
	op, n := head[0], int(head[1]&0x7f)
	switch {
	case head[1]&0x80 == 0 || n == 127:
		return 0, nil, errors.New("read frame: it is not masked, or too long")
	case n == 126:
		if _, err := io.ReadFull(r, head[:2]); err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint16(head[:2]))
	}
	message = make([]byte, 4+n)
	if _, err := io.ReadFull(r, message); err != nil {
		return 0, nil, err
	}
	mask, message := message[:4], message[4:]
	for i := range message {
		message[i] ^= mask[i%4]
	}
	return op, message, nil
}

// writeFrame writes a frame of less than 64 KiB.
func writeFrame(w io.Writer, op byte, message []byte) error {
	frame := []byte{op, byte(len(message))}
	if len(message) > 125 {
		frame[1] = 126
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(message)))
	}
	_, err := w.Write(append(frame, message...))
	return err
}
