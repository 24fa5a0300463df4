package pushnats

import (
	"fmt"
	"log/slog"
)

// logger gives the lines of the embedded server to slog. What it only notes is for
// debugging here.
type logger struct{ to *slog.Logger }

func (l logger) Noticef(f string, v ...any) { l.to.Debug("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Warnf(f string, v ...any)   { l.to.Warn("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Errorf(f string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Fatalf(f string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Debugf(string, ...any)      {}
func (l logger) Tracef(string, ...any)      {}
