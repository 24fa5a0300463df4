//go:build !twin

package main

import "html/template"

// Views are the pages in all languages.
type Views struct{ layout *template.Template }

func newViews() (*Views, error) {
	layout, err := template.New("layout").Funcs(translator("en")).Parse(layoutText)
	return &Views{layout}, err
}

// of returns the view in a language.
func (v *Views) of(language string) (*template.Template, error) {
	t, err := v.layout.Clone()
	if err != nil {
		return nil, err
	}
	return t.Funcs(translator(language)).Parse(topicText)
}
