package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/profile/tree"
)

// Collapsed writes a line for each stack: its functions, outermost first and separated by
// semicolons, and its value. Stacks are not merged; readers add them up.
func Collapsed(w io.Writer, s *tree.Samples) error {
	out := bufio.NewWriter(w)
	names := make([]string, len(s.Symbols))
	for i := range names {
		names[i] = strings.ReplaceAll(s.Symbols[i].Name, ";", ":") // separates functions
	}
	for i, stack := range s.Stacks {
		if s.Values[i] <= 0 || len(stack) == 0 {
			continue
		}
		for n, symbol := range stack {
			if n > 0 {
				out.WriteByte(';')
			}
			out.WriteString(names[symbol])
		}
		out.WriteByte(' ')
		out.WriteString(strconv.FormatInt(s.Values[i], 10))
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write collapsed stacks: %w", err)
	}
	return nil
}

// The file format of speedscope, version 0.0.1: its schema is at
// https://www.speedscope.app/file-format-schema.json.
type speedscope struct {
	Schema   string      `json:"$schema"`
	Exporter string      `json:"exporter"`
	Name     string      `json:"name"`
	Shared   shared      `json:"shared"`
	Profiles [1]weighted `json:"profiles"`
}

type shared struct {
	Frames []frame `json:"frames"`
}

type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
}

type weighted struct {
	Type       string    `json:"type"`
	Name       string    `json:"name"`
	Unit       string    `json:"unit"`
	StartValue int64     `json:"startValue"`
	EndValue   int64     `json:"endValue"`
	Samples    [][]int32 `json:"samples"`
	Weights    []int64   `json:"weights"`
}

// units are the names of units in speedscope.
var units = map[string]string{"nanoseconds": "nanoseconds", "microseconds": "microseconds", "milliseconds": "milliseconds", "seconds": "seconds", "bytes": "bytes"}

// Speedscope writes the file format of speedscope.
func Speedscope(w io.Writer, s *tree.Samples, name string) error {
	p := weighted{Type: "sampled", Name: s.Type, Unit: "none", Samples: [][]int32{}, Weights: []int64{}}
	if unit, ok := units[s.Unit]; ok {
		p.Unit = unit
	}
	for i, stack := range s.Stacks {
		if s.Values[i] > 0 && len(stack) > 0 {
			p.Samples, p.Weights = append(p.Samples, stack), append(p.Weights, s.Values[i])
			p.EndValue += s.Values[i]
		}
	}
	file := speedscope{Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "redline", Name: name, Shared: shared{Frames: []frame{}}, Profiles: [1]weighted{p}}
	for _, symbol := range s.Symbols {
		file.Shared.Frames = append(file.Shared.Frames, frame{Name: symbol.Name, File: symbol.File})
	}
	if err := json.NewEncoder(w).Encode(&file); err != nil {
		return fmt.Errorf("write the file of speedscope: %w", err)
	}
	return nil
}
