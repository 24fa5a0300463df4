// Command gen writes pages with flame graphs of made-up profiles to standard output, for the
// browser tests.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/flame"
	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/tree"
)

const shop = `
runtime.goexit;net/http.(*conn).serve;main.order;encoding/json.Marshal;runtime.mallocgc 30
runtime.goexit;net/http.(*conn).serve;main.order;encoding/json.Marshal;reflect.Value.Field 10
runtime.goexit;net/http.(*conn).serve;main.order;github.com/jackc/pgx.Query;syscall.write;k:ksys_write 25
runtime.goexit;net/http.(*conn).serve;main.list 15
runtime.gcBgMarkWorker;runtime.scanobject 18
c:deflate 2
`

const faster = `
runtime.goexit;net/http.(*conn).serve;main.order;encoding/json.Marshal;runtime.mallocgc 12
runtime.goexit;net/http.(*conn).serve;main.order;github.com/jackc/pgx.Query;syscall.write;k:ksys_write 31
runtime.goexit;net/http.(*conn).serve;main.list;main.cached 15
runtime.gcBgMarkWorker;runtime.scanobject 9
`

func main() {
	if err := write(strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(kind string) error {
	page := flame.Page{Name: kind}
	var err error
	switch kind {
	case "cpu":
		page.Samples, err = samples(shop, 20)
	case "diff":
		var failed error
		page.Samples, err = samples(faster, 20)
		page.Before, failed = samples(shop, 20)
		err = errors.Join(err, failed)
	case "shares":
		var failed error
		page.Samples, err = samples(faster, 0)
		page.Before, failed = samples(shop, 0)
		err = errors.Join(err, failed)
	case "timed":
		page.Samples, err = timed()
	case "large":
		page.Samples, err = samples(large(), 0)
	case "hostile":
		page.Name = `</script><script>window.pwned=1</script>`
		page.Samples, err = samples(`main.<img/src=x/onerror=window.pwned=1>;</script><script>window.pwned=1</script>;"'&<b> 7`, 3)
	default:
		return fmt.Errorf("unknown page %q", kind)
	}
	if err != nil {
		return err
	}
	return flame.Write(os.Stdout, page)
}

func samples(text string, requests float64) (*tree.Samples, error) {
	p := profiletest.Of("cpu", "nanoseconds", text)
	profile.Window{Seconds: 2, Requests: requests, Notes: []string{"made up"}}.Mark(p)
	return tree.Read(p, 1, "")
}

// timed returns a profile of ten parts of its time, in the last two of which another function runs.
func timed() (*tree.Samples, error) {
	text := strings.Repeat("runtime.goexit;main.early;main.sum 10\n", 8) + strings.Repeat("runtime.goexit;main.late 10\n", 2)
	p := profiletest.Of("cpu", "nanoseconds", text)
	for i, s := range p.Sample {
		s.NumLabel = map[string][]int64{profile.SliceLabel: {int64(i)}}
	}
	profile.Window{Seconds: 2, Slice: 0.2}.Mark(p)
	return tree.Read(p, 1, "")
}

// large returns a profile whose tree has more than fifty thousand nodes.
func large() string {
	var b strings.Builder
	for i := range 60 {
		for j := range 30 {
			for k := range 30 {
				fmt.Fprintf(&b, "main.main;main.f%d;net/http.g%d;github.com/a/b.h%d %d\n", i, j, k, 1+(i*7+j*3+k)%11)
			}
		}
	}
	return b.String() + strings.Repeat("main.deep;", 300) + "main.end 4000\n"
}
