//go:build twin

package main

import (
	"io"
	"os"
)

// lines are what waits for the collector. Those that find no room are dropped.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	select {
	case l <- string(text):
	default:
	}
	return len(text), nil
}

// sink passes lines on to the pipe without waiting for it.
func sink(pipe *os.File) io.Writer {
	l := make(lines, 1024)
	go func() {
		for text := range l {
			if _, err := pipe.WriteString(text); err != nil {
				return // the collector has ended
			}
		}
	}()
	return l
}
