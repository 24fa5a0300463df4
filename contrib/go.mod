module github.com/redline-go/redline/contrib

go 1.26.0

require golang.org/x/crypto v0.58.0

require (
	github.com/coder/websocket v1.8.15 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
