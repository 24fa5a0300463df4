// Command presence keeps a connection with every open client, and answers who is online.
package main

import (
	"log"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	if err := limits(); err != nil {
		log.Fatal(err)
	}
	var beats atomic.Int64
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/presence/:room", func(c *gin.Context) {
		select { // a change of the room, or the next beat
		case <-time.After(20 * time.Millisecond):
		case <-c.Request.Context().Done():
			return
		}
		c.Header("X-Beat", strconv.FormatInt(beats.Add(1), 10))
		c.JSON(http.StatusOK, gin.H{"room": c.Param("room"), "online": []string{"ada", "grace", "barbara"}})
	})
	r.GET("/healthz", gin.WrapF(service.Health))
	service.MainAdmin(r, http.DefaultServeMux)
}

// setFiles sets how many files this process may have open.
func setFiles(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n})
}
