// Command cache is a Redis for the zoo: it answers GET, MGET and what a client says when it
// connects. Every key has a value.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	ln, err := service.Listen()
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	ctx, stop := service.Terminated()
	defer stop()
	service.Announce(ln.Addr())
	<-ctx.Done()
}

// answer answers the commands of one connection.
func answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	in, out := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		words, err := command(in)
		if err != nil {
			return
		}
		switch strings.ToUpper(words[0]) {
		case "GET":
			value(out, words[len(words)-1])
		case "MGET":
			_, _ = fmt.Fprintf(out, "*%d\r\n", len(words)-1)
			for _, key := range words[1:] {
				value(out, key)
			}
		case "HELLO":
			_, _ = out.WriteString("-ERR unknown command\r\n")
		default:
			_, _ = out.WriteString("+OK\r\n")
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// value writes the value of a key.
func value(out *bufio.Writer, key string) {
	text := fmt.Sprintf(`{"key":%q,"cents":%d}`, key, 100+len(key)*17)
	_, _ = fmt.Fprintf(out, "$%d\r\n%s\r\n", len(text), text)
}

var errProtocol = errors.New("not a command")

// command reads an array of strings.
func command(in *bufio.Reader) ([]string, error) {
	n, err := header(in, '*')
	if err != nil || n < 1 || n > 1000 {
		return nil, errors.Join(errProtocol, err)
	}
	words := make([]string, n)
	for i := range words {
		size, err := header(in, '$')
		if err != nil || size > 1<<16 {
			return nil, errors.Join(errProtocol, err)
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

// header reads a line that is a kind and a number.
func header(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, errProtocol
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		return 0, errProtocol
	}
	return n, nil
}
