module github.com/redline-go/redline/examples/chi

go 1.26.0

require (
	github.com/go-chi/chi/v5 v5.5.0
	github.com/redline-go/redline v0.0.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/redline-go/redline => ../..
