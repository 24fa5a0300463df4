package kernel

import (
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/watch"
)

// networkFields are the counters of a network namespace: file, line, name and figure.
var networkFields = []struct{ file, line, name, figure string }{
	{"netstat", "TcpExt", "ListenOverflows", "net_listen_overflows"},
	{"netstat", "TcpExt", "ListenDrops", "net_listen_drops"},
	{"snmp", "Tcp", "OutSegs", "net_segments_sent"},
	{"snmp", "Tcp", "RetransSegs", "net_retransmits"},
}

func (t *Target) network(r *watch.Reading) error {
	files := map[string]map[string]float64{}
	id := strconv.Itoa(t.pid)
	for _, f := range networkFields {
		if files[f.file] == nil {
			lines, err := t.fs.Lines("proc", id, "net", f.file)
			if err != nil {
				files[f.file] = map[string]float64{}
				r.Miss(t.fs.Path("proc", id, "net", f.file), reason(err), networkFigures(f.file)...)
				continue
			}
			files[f.file] = counters(lines)
		}
		if v, ok := files[f.file][f.line+"."+f.name]; ok {
			r.Count(f.figure, 0, v)
		}
	}
	return nil
}

func networkFigures(file string) (list []string) {
	for _, f := range networkFields {
		if f.file == file {
			list = append(list, f.figure)
		}
	}
	return list
}

// counters reads pairs of lines, one with the names and one with the values:
//
//	Tcp: ActiveOpens PassiveOpens
//	Tcp: 1 2
func counters(lines []string) map[string]float64 {
	found := map[string]float64{}
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(names) != len(values) || len(names) == 0 || names[0] != values[0] {
			continue
		}
		for j, name := range names[1:] {
			if v, err := strconv.ParseFloat(values[j+1], 64); err == nil {
				found[names[0][:len(names[0])-1]+"."+name] = v
			}
		}
	}
	return found
}
