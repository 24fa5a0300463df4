// Command chat keeps the latest messages of the members of its rooms.
package main

import (
	"io"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	rooms   = 32
	members = 500 // of a room
	keep    = 16  // messages that a member can read again
)

// Member is someone in a room.
type Member struct {
	mu   sync.Mutex
	ring [keep]string
	n    int
}

// receive stores a message for the member.
func (m *Member) receive(text string) {
	m.mu.Lock()
	m.ring[m.n%keep] = text
	m.n++
	m.mu.Unlock()
}

// Room is what its members share.
type Room struct{ members []*Member }

func newRoom() *Room {
	r := &Room{}
	for range members {
		r.members = append(r.members, &Member{})
	}
	return r
}

func main() {
	house := make([]*Room, rooms)
	for i := range house {
		house[i] = newRoom()
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery())
	router.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	router.POST("/rooms/:room/messages", func(c *gin.Context) {
		i, err := strconv.Atoi(c.Param("room"))
		if err != nil || i < 0 || i >= rooms {
			c.String(http.StatusNotFound, "no such room")
			return
		}
		text, err := io.ReadAll(io.LimitReader(c.Request.Body, 4<<10))
		if err != nil {
			c.String(http.StatusBadRequest, err.Error())
			return
		}
		house[i].send(string(text))
		c.JSON(http.StatusAccepted, gin.H{"recipients": len(house[i].members)})
	})
	service.MainAdmin(router, http.DefaultServeMux)
}
