// Command help-pages shows the help of a program in the visitor's language.
package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"log"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

var (
	//go:embed layout.html
	layoutText string
	//go:embed topic.html
	topicText string

	pages = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// words are the texts of the layout.
var words = map[string]map[string]string{
	"en": {"title": "Help", "home": "Home", "search": "Search", "contact": "Contact", "imprint": "Imprint", "useful": "Was this useful?", "yes": "Yes", "no": "No"},
	"de": {"title": "Hilfe", "home": "Start", "search": "Suche", "contact": "Kontakt", "imprint": "Impressum", "useful": "War das hilfreich?", "yes": "Ja", "no": "Nein"},
	"fr": {"title": "Aide", "home": "Accueil", "search": "Recherche", "contact": "Contact", "imprint": "Mentions", "useful": "Utile ?", "yes": "Oui", "no": "Non"},
}

// translator returns the function with which templates translate.
func translator(language string) template.FuncMap {
	return template.FuncMap{"tr": func(key string) string { return words[language][key] }}
}

// Topic is one page of the help.
type Topic struct {
	Slug, Title, Language string
	Steps                 []string
}

var topics = []Topic{
	{Slug: "print", Title: "Print a page", Steps: []string{"Open the page.", "Choose <Print>.", "Choose a printer & press OK."}},
	{Slug: "share", Title: "Share a page", Steps: []string{"Open the page.", "Choose <Share>.", "Write the address of a friend."}},
	{Slug: "undo", Title: "Undo a change", Steps: []string{"Open the history.", "Choose the change.", "Press \"Undo\"."}},
}

// languageOf returns the language that a visitor prefers.
func languageOf(r *http.Request) string {
	if accept := r.Header.Get("Accept-Language"); len(accept) >= 2 && words[accept[:2]] != nil {
		return accept[:2]
	}
	return "en"
}

func (v *Views) show(w http.ResponseWriter, r *http.Request) {
	topic := topics[rand.IntN(len(topics))]
	topic.Language = languageOf(r)
	page := pages.Get().(*bytes.Buffer)
	defer pages.Put(page)
	page.Reset()
	t, err := v.of(topic.Language)
	if err == nil {
		err = t.Execute(page, topic)
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the page is not available", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes())
}

func main() {
	v, err := newViews()
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /help", v.show)
	service.Main(mux)
}
