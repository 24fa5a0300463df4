// Command session-store is a key-value store that knows every key. A request is a line
// "get LENGTH" and the key; an answer is the length of the value in a line, and the value.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	service.Talk(talk)
}

func talk(c net.Conn) error {
	r := bufio.NewReader(c)
	key := make([]byte, 256)
	for {
		head, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "get ")))
		if err != nil || n < 0 || n > len(key) {
			return fmt.Errorf("request %q", head)
		}
		if _, err := io.ReadFull(r, key[:n]); err != nil {
			return err
		}
		value := "user-" + string(key[:n])
		if _, err := fmt.Fprintf(c, "%d\n%s", len(value), value); err != nil {
			return err
		}
	}
}
