// Command price-rules answers the price of an article, to which a dozen rules apply.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"

	"github.com/go-chi/chi/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const articles = 5000

// Rule changes the price of some articles.
type Rule struct {
	Name    string
	From    int // the first article
	Percent int
}

// Engine applies the rules.
type Engine struct {
	rules []Rule
	log   *zap.Logger
}

func newEngine(log *zap.Logger) *Engine {
	e := &Engine{log: log}
	for i := range 12 {
		e.rules = append(e.rules, Rule{fmt.Sprintf("rule-%02d", i), i * 300, 1 + i%5})
	}
	return e
}

// price returns the price in cents.
func (e *Engine) price(article, pieces int) int {
	base := 500 + article%900
	cents := base * pieces
	for i := range e.rules {
		r := &e.rules[i]
		applies := article >= r.From
		if applies {
			cents -= base * r.Percent / 100
		}
		if line := e.log.Check(zapcore.DebugLevel, "rule"); line != nil {
			line.Write(zap.String("name", r.Name), zap.Int("article", article), zap.Bool("applies", applies), zap.Int("cents", cents))
		}
	}
	return max(cents, 1)
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) {
	article := rand.IntN(articles)
	if text := chi.URLParam(r, "article"); text != "any" {
		var err error
		if article, err = strconv.Atoi(text); err != nil || article < 0 || article >= articles {
			http.Error(w, "no such article", http.StatusNotFound)
			return
		}
	}
	cents := e.price(article, 1+article%3)
	b := strconv.AppendInt([]byte(`{"article":`), int64(article), 10)
	b = strconv.AppendInt(append(b, `,"cents":`...), int64(cents), 10)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '}'))
}

// newLog returns a log of $LOG_LEVEL whose files do not grow without end.
func newLog() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(os.Getenv("LOG_LEVEL"))
	if err != nil {
		return nil, err
	}
	file := &lumberjack.Logger{Filename: service.File("prices.log"), MaxSize: 32, MaxBackups: 1}
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(file), level)), nil
}

func main() {
	lines, err := newLog()
	if err != nil {
		log.Fatal(err)
	}
	lines.Info("started", zap.Int("articles", articles))
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Get("/prices/{article}", newEngine(lines).serve)
	service.Main(r)
}
