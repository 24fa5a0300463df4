//go:build !twin

package main

// record is a row of any table.
type record map[string]any

// records returns the rows of a sheet.
func records(sheet []Sale) []record {
	var rows []record
	for i := range sheet {
		s := &sheet[i]
		rows = append(rows, record{
			"article": s.Article, "day": s.Day, "pieces": s.Pieces, "cents": s.Cents, "returned": s.Returned,
		})
	}
	return rows
}

// where returns the rows of which a test is true.
func where(rows []record, test func(record) bool) []record {
	var kept []record
	for _, r := range rows {
		if test(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// groups returns the rows by a column.
func groups(rows []record, column string) map[any][]record {
	by := map[any][]record{}
	for _, r := range rows {
		by[r[column]] = append(by[r[column]], r)
	}
	return by
}

// report adds up a sheet.
func report(sheet []Sale) []byte {
	sold := where(records(sheet), func(r record) bool { return !r["returned"].(bool) })
	by := groups(sold, "article")
	var sums [articles]sum
	for i, name := range names {
		for _, r := range by[name] {
			sums[i].pieces += r["pieces"].(int)
			sums[i].cents += r["cents"].(int64)
		}
	}
	return appendReport(make([]byte, 0, 1024), &sums)
}
