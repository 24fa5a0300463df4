//go:build twin

package main

import "html/template"

// Views are the pages in all languages.
type Views struct{ languages map[string]*template.Template }

func newViews() (*Views, error) {
	v := &Views{map[string]*template.Template{}}
	for language := range words {
		t, err := template.New("layout").Funcs(translator(language)).Parse(layoutText)
		if err == nil {
			_, err = t.Parse(topicText)
		}
		if err != nil {
			return nil, err
		}
		v.languages[language] = t
	}
	return v, nil
}

// of returns the view in a language.
func (v *Views) of(language string) (*template.Template, error) {
	return v.languages[language], nil
}
