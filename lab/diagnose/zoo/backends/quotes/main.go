// Command quotes answers the price of a share: a request is a line with its symbol, an answer
// is a line with the price.
package main

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"net"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	service.Talk(func(c net.Conn) error {
		r := bufio.NewReader(c)
		for {
			symbol, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(symbol))
			if _, err := fmt.Fprintf(c, "%d.%02d\n", h.Sum32()%1000, h.Sum32()%100); err != nil {
				return err
			}
		}
	})
}
