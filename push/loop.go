package push

import "time"

type nativeFrame struct{}

type walk struct{}

func (w *walk) start()                               {}
func (w *walk) walks() bool                          { return false }
func (w *walk) later(d time.Duration, f func()) bool { return false }
