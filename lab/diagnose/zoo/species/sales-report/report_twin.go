//go:build twin

package main

// report adds up a sheet.
func report(sheet []Sale) []byte {
	by := make(map[string]sum, articles)
	for i := range sheet {
		s := &sheet[i]
		if s.Returned {
			continue
		}
		of := by[s.Article]
		of.pieces += s.Pieces
		of.cents += s.Cents
		by[s.Article] = of
	}
	return appendReport(make([]byte, 0, 1024), func(article string) sum { return by[article] })
}
