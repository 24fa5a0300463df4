//go:build !linux

package generators

import "time"

func sharpen() {}

func sleep(d time.Duration) { time.Sleep(d) }
