package kernel

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// BenchmarkSamplers measures what one reading of each source costs, of this process.
func BenchmarkSamplers(b *testing.B) {
	target, err := Open(procfs.Host, os.Getpid(), false)
	if err != nil {
		b.Fatal(err)
	}
	list, err := target.Samplers()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range list {
		b.Run(strings.ReplaceAll(s.Name(), " ", "_"), func(b *testing.B) {
			for b.Loop() {
				if err := s.Sample(b.Context(), watch.NewReading(time.Now())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, s := range list {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}
