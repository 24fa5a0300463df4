// Command imports checks the records of a delivery note. It is logged, because the auditors want
// it.
package main

import (
	"bufio"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// maxLog is how large the log may become, in bytes.
const maxLog = 64 << 20

// Record is one line "SKU;AMOUNT" of a delivery note.
type Record struct{ SKU, Amount string }

// valid checks a record.
func (r Record) valid() bool {
	return len(r.SKU) > 2 && r.Amount != "" && strings.Trim(r.Amount, "0123456789") == ""
}

// importer takes delivery notes.
type importer struct{ log *log.Logger }

func (i *importer) take(c *gin.Context) {
	begin, client := time.Now(), c.ClientIP()
	lines := bufio.NewScanner(http.MaxBytesReader(c.Writer, c.Request.Body, 1<<20))
	good, bad := 0, 0
	for lines.Scan() {
		sku, amount, _ := strings.Cut(lines.Text(), ";")
		r := Record{sku, amount}
		if r.valid() {
			good++
			i.record("record ", r.SKU)
		} else {
			bad++
			i.record("bad record ", r.SKU)
		}
	}
	if err := lines.Err(); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	i.log.Printf("client=%s good=%d bad=%d took=%v", client, good, bad, time.Since(begin))
	c.JSON(http.StatusOK, gin.H{"good": good, "bad": bad})
}

// limit empties the file when it has become too large.
func limit(file *os.File) {
	for range time.Tick(time.Second) {
		if info, err := file.Stat(); err == nil && info.Size() > maxLog {
			_ = file.Truncate(0)
		}
	}
}

func main() {
	file, err := os.OpenFile(service.File("audit.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	go limit(file)
	i := &importer{log.New(output(file), "", log.LstdFlags|log.Lmicroseconds)}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	router.POST("/deliveries", i.take)
	service.MainAdmin(router, http.DefaultServeMux)
}
