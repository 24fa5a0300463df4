package control_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/redline-go/redline/contrib/control"
	"github.com/redline-go/redline/contrib/control/profiles"
)

// A service opens its socket beside its listener, and redline load --control
// asks it.
func ExampleListen() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "control")

	socket, err := control.Listen(path, control.Options{
		Name: "shop", Title: "shop 1.2.3",
		Profiles: profiles.Kinds(), Profile: profiles.Write,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer socket.Close()

	// What a reader does: a line, and an answer.
	conn, err := net.Dial("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn)
	var snapshot struct {
		Title    string   `json:"title"`
		Profiles []string `json:"profiles"`
	}
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&snapshot); err != nil {
		log.Fatal(err)
	}
	fmt.Println(snapshot.Title, snapshot.Profiles)
	// Output: shop 1.2.3 [allocs block cpu goroutine heap mutex trace]
}
