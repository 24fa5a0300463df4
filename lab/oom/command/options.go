package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/cli"
	load "github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/oom"
)

// The exit codes, in addition to those of all verbs.
const (
	ExitDied    = 3 // the kernel killed a process, or the server ended
	ExitInvalid = 4 // whether the server would hold is not known
)

// Options are the flags of the verb.
type Options struct {
	Load       load.Flags
	Command    []string // that starts the server
	Limit      string   // of the group; empty: Headroom times the resident memory after the start
	Headroom   float64
	GoMemLimit string // size, or share of the limit; empty: none
	NoGroup    bool   // GOMEMLIMIT only
	ScoreAdj   int
	Adjust     bool // write ScoreAdj
	Again      bool // a first run without ScoreAdj

	Steps       int
	First, Most int           // connections of the first and the last step
	Rate        float64       // of the first step; 0: closed loops
	Body        string        // size of the bodies of the first step; empty: as the load's flags say
	Step        time.Duration // length of a step
	Thresholds  oom.Thresholds
	JSON        string
	Quiet       bool
}

// limits are the sizes of Options.
type limits struct {
	group   int64   // 0: by the resident memory
	goSize  int64   // 0: none, or a share
	goShare float64 // of the limit
	body    int64
}

// The bounds of options.
const (
	leastLimit = 1 << 20
	mostSteps  = 100
)

// check returns the sizes, or a usage error for options that make no sense.
func (o *Options) check(url string, targets bool) (l limits, err error) {
	switch {
	case url == "" && !targets:
		return l, cli.Usage("name the URL, such as redline oom http://127.0.0.1:8080/ -- ./server")
	case len(o.Command) == 0:
		return l, cli.Usage("name the command that starts the server after --: its memory is bounded from the start, so a server that runs already cannot be used")
	case o.Steps < 1 || o.Steps > mostSteps:
		return l, cli.Usage("--steps %d: write a number from 1 to %d", o.Steps, mostSteps)
	case o.First < 1 || o.Most < o.First:
		return l, cli.Usage("--first %d and --most %d: write at least 1, and the larger number as --most", o.First, o.Most)
	case o.Rate < 0 || math.IsInf(o.Rate, 0) || math.IsNaN(o.Rate):
		return l, cli.Usage("--rate %v: write requests a second", o.Rate)
	case o.Step < 500*time.Millisecond:
		return l, cli.Usage("--step %v: write at least 500ms", o.Step)
	case !(o.Headroom > 1):
		return l, cli.Usage("--headroom %v: write a multiple above 1 of the resident memory, such as 4", o.Headroom)
	case o.Adjust && (o.ScoreAdj < -1000 || o.ScoreAdj > 1000):
		return l, cli.Usage("--oom-score-adj %d: write a number from -1000 to 1000", o.ScoreAdj)
	case o.Again && !o.Adjust:
		return l, cli.Usage("--again makes a run without --oom-score-adj, and one with it: write both")
	case !(o.Thresholds.Latency > 1) || !(o.Thresholds.GC > 0) || !(o.Thresholds.Errors >= 0):
		return l, cli.Usage("--latency %v, --gc %v, --errors %v: write a multiple above 1, and shares such as 0.5", o.Thresholds.Latency, o.Thresholds.GC, o.Thresholds.Errors)
	}
	return o.sizes()
}

// sizes reads the sizes.
func (o *Options) sizes() (l limits, err error) {
	if l.group, err = size("limit", o.Limit, leastLimit); err != nil {
		return l, err
	}
	if l.body, err = size("grow-body", o.Body, 1); err != nil {
		return l, err
	}
	if l.body > math.MaxInt64>>o.Steps {
		return l, cli.Usage("--grow-body %s: it doubles with each of the %d steps; write less", o.Body, o.Steps)
	}
	if share, ok := share(o.GoMemLimit); ok {
		l.goShare = share
	} else if l.goSize, err = size("gomemlimit", o.GoMemLimit, leastLimit); err != nil {
		return l, err
	}
	switch {
	case o.NoGroup && l.goSize == 0:
		return l, cli.Usage("--no-group: without a control group only GOMEMLIMIT bounds the memory: write --gomemlimit with a size, such as 64MiB")
	case o.NoGroup && o.Limit != "":
		return l, cli.Usage("--no-group and --limit: leave out one of the two")
	}
	return l, nil
}

// size reads a size; 0 if none is given.
func size(flag, text string, least int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := scenario.ParseSize(text)
	if err != nil || n < least {
		return 0, cli.Usage("--%s %s: write bytes as 64MiB or 200MB, at least %d", flag, text, least)
	}
	return n, nil
}

// share reads a share of the limit: 0.9, or 90%.
func share(text string) (float64, bool) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	return v, err == nil && v > 0 && v <= 1
}

// loads returns the load of each step: the connections grow by one factor, rate and bodies double.
func (o *Options) loads(body int64) []oom.Load {
	list := make([]oom.Load, o.Steps)
	for i := range list {
		list[i] = oom.Load{Connections: o.Most, Rate: o.Rate * math.Pow(2, float64(i)), Body: body << i}
		if o.Steps > 1 {
			list[i].Connections = int(math.Round(float64(o.First) * math.Pow(float64(o.Most)/float64(o.First), float64(i)/float64(o.Steps-1))))
		}
	}
	return list
}

// environment returns the variables of the server.
func environment(goLimit int64) []string {
	if goLimit == 0 {
		return nil
	}
	return []string{fmt.Sprintf("GOMEMLIMIT=%d", goLimit)}
}
