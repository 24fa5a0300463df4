// Command catalogue renders the pages of a shop.
package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strconv"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Page is what a page shows.
type Page struct {
	Title    string
	Category string
	User     string
	Articles []Article
}

// Article is an article of the shop.
type Article struct {
	Name  string
	Cents int
	Tags  []string
}

// Price is the price in the shop's currency.
func (a Article) Price() string { return fmt.Sprintf("%d.%02d EUR", a.Cents/100, a.Cents%100) }

const layout = `<!doctype html>
<html lang="en">
<head><title>{{.Title}}</title><link rel="stylesheet" href="/style/{{.Category}}.css"></head>
<body>
{{template "header" .}}
<ul class="articles">
{{range .Articles}}{{template "article" .}}{{else}}<li>Nothing here</li>{{end}}
</ul>
{{template "footer" .}}
<script>const page = {title: {{.Title}}, category: {{.Category}}};</script>
</body>
</html>
{{define "header"}}<header><h1>{{.Title}}</h1>{{if .User}}<a href="/users/{{.User}}">{{.User}}</a>{{else}}<a href="/login?next=/{{.Category}}">Login</a>{{end}}</header>{{end}}
{{define "article"}}<li><b title="{{.Name}}">{{.Name}}</b> <i>{{.Price}}</i>{{range .Tags}} <a href="/tags/{{.}}">{{.}}</a>{{end}}</li>{{end}}
{{define "footer"}}<footer><a href="/{{.Category}}/more">More of {{.Category}}</a></footer>{{end}}
`

func main() {
	shelf := make([]Article, 100)
	for i := range shelf {
		shelf[i] = Article{"Article " + strconv.Itoa(i), 499 + i*37, []string{"new", "tag" + strconv.Itoa(i%7)}}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /catalogue", func(w http.ResponseWriter, r *http.Request) {
		from := rand.IntN(len(shelf) - 3)
		page := Page{"Garden & House", "garden", r.URL.Query().Get("user"), shelf[from : from+3]}
		var b bytes.Buffer
		if err := render(&b, page); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b.Bytes())
	})
	service.MainAdmin(mux, http.DefaultServeMux)
}
