package pushnats_test

import (
	"log/slog"
	"os"
)

func init() {
	if os.Getenv("DEBUG") != "" {
		debugLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
}

var debugLog = slog.New(slog.DiscardHandler)
