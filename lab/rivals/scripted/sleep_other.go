//go:build !linux

package scripted

import "time"

func sharpen() {}

func sleep(d time.Duration) { time.Sleep(d) }
