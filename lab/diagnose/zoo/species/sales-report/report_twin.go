//go:build twin

package main

// report adds up a sheet.
func report(sheet []Sale) []byte {
	var sums [articles]sum
	for i := range sheet {
		s := &sheet[i]
		if s.Returned {
			continue
		}
		sums[s.Number].pieces += s.Pieces
		sums[s.Number].cents += s.Cents
	}
	return appendReport(make([]byte, 0, 1024), &sums)
}
