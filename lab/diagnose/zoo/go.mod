module github.com/redline-go/redline/lab/diagnose/zoo

go 1.26.0

replace github.com/redline-go/redline/lab => ../../

require (
	github.com/go-chi/chi/v5 v5.5.0
	github.com/redline-go/redline/lab v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/sys v0.49.0
)
