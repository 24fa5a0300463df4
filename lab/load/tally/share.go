package tally

import (
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// ServerCPU returns the CPU time of the server's processes in the window of r, and its share
// of the CPUs that they may use.
func ServerCPU(r *spec.Result, cpus int) results.CPU {
	c := results.CPU{
		UserSeconds: r.ServerUser, SysSeconds: r.ServerSys,
		Utilisation: r.ServerCPU / r.Seconds / float64(max(cpus, 1)),
	}
	if r.Requests > 0 {
		c.PerRequestUs = r.ServerCPU / float64(r.Requests) * 1e6
	}
	return c
}

// Generator returns what is known about the generator itself, which used the given number of
// CPUs.
func Generator(r *spec.Result, cpus int) results.Generator {
	return results.Generator{
		CPUUtilisation: r.GeneratorCPU / r.Seconds / float64(max(cpus, 1)),
		WarmupSeconds:  r.WarmupSeconds, Steady: r.Steady, StealRatio: r.Steal, ForeignRatio: r.Foreign,
	}
}
