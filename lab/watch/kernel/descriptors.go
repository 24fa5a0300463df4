package kernel

import (
	"os"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// kinds are the kinds of descriptors, as the links in /proc/PID/fd begin.
var kinds = []struct{ prefix, figure string }{
	{"socket:[", "descriptors_socket"},
	{"pipe:[", "descriptors_pipe"},
	{"/", "descriptors_file"},
	{"anon_inode:[eventfd", "descriptors_eventfd"},
	{"anon_inode:[eventpoll]", "descriptors_epoll"},
	{"anon_inode:[io_uring]", "descriptors_io_uring"},
	{"", "descriptors_other"},
}

// open counts the descriptors, which is cheap since Linux 6.2.
func (t *Target) open(r *watch.Reading) error {
	n := 0
	if t.each(r, "fd", []string{"descriptors"}, func(pid int, _ string) error {
		one, err := t.fs.OpenFiles(pid)
		n += one
		return err
	}) {
		r.Set("descriptors", float64(n))
	}
	return nil
}

// descriptors counts the descriptors by kind, and finds the inodes of the sockets.
func (t *Target) descriptors(r *watch.Reading) error {
	counts, inodes := map[string]int{}, map[uint32]bool{}
	var figures []string
	for _, k := range kinds {
		figures = append(figures, k.figure)
	}
	t.inodes = nil
	if !t.each(r, "fd", figures, func(_ int, id string) error {
		names, err := t.fs.Names("proc", id, "fd")
		if err != nil {
			return err
		}
		for _, name := range names {
			link, err := os.Readlink(t.fs.Path("proc", id, "fd", name))
			if procfs.Gone(err) {
				continue // closed in the meantime
			}
			if err != nil {
				return err
			}
			for _, k := range kinds {
				if strings.HasPrefix(link, k.prefix) {
					counts[k.figure]++
					break
				}
			}
			if text, ok := strings.CutPrefix(link, "socket:["); ok {
				if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
					inodes[uint32(inode)] = true
				}
			}
		}
		return nil
	}) {
		return nil
	}
	t.inodes = inodes
	for _, k := range kinds {
		r.Set(k.figure, float64(counts[k.figure]))
	}
	return nil
}
