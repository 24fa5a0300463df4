module github.com/redline-go/redline/contrib

go 1.26.0
