package machine

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/probe"
)

func hugePages(fs procfs.FS) []Finding {
	file := []string{"sys", "kernel", "mm", "transparent_hugepage", "enabled"}
	if !strings.Contains(text(fs, file...), "[always]") {
		return nil
	}
	return []Finding{{
		Name: "transparent huge pages", Value: "always",
		Why:     "memory is allocated and compacted 2 MiB at a time, in the background: resident memory looks larger, and latencies have outliers",
		Advice:  "madvise",
		Changes: change(fs, "madvise", file...),
	}}
}

func numaBalancing(fs procfs.FS) []Finding {
	nodes, err := probe.ParseCPUs(text(fs, "sys", "devices", "system", "node", "online"))
	if err != nil || len(nodes) < 2 {
		return nil // nothing to balance
	}
	file := sysctl("kernel.numa_balancing")
	if now := text(fs, file...); now == "" || now == "0" {
		return nil
	}
	return []Finding{{
		Name: "NUMA balancing", Value: fmt.Sprintf("on, %d nodes", len(nodes)), Disturbs: true,
		Why:     "the kernel unmaps pages to find out which node uses them, and moves them between nodes during a run",
		Advice:  "turn it off while measuring, and bind both sides to one node",
		Changes: change(fs, "0", file...),
	}}
}

func swap(fs procfs.FS) []Finding {
	lines, err := fs.Lines("proc", "meminfo")
	if err != nil {
		return nil
	}
	total, free := procfs.Number(lines, "SwapTotal"), procfs.Number(lines, "SwapFree")
	if total <= free {
		return nil
	}
	return []Finding{{
		Name: "swap", Value: fmt.Sprintf("%d MiB in use", (total-free)>>10), Disturbs: true,
		Why:    "a page read back from disk takes milliseconds, and resident memory does not include swapped pages",
		Advice: "free memory, then swapoff -a && swapon -a",
	}}
}

// power finds a machine that saves energy or reduces heat at the cost of speed.
func power(fs procfs.FS) []Finding {
	var found []Finding
	names, err := fs.Names("sys", "class", "power_supply")
	if err != nil {
		names = nil // a machine without batteries
	}
	for _, name := range names {
		dir := []string{"sys", "class", "power_supply", name}
		if text(fs, append(dir, "type")...) == "Battery" && text(fs, append(dir, "status")...) == "Discharging" {
			found = append(found, Finding{
				Name: "battery", Value: name + " is discharging", Disturbs: true,
				Why:    "on battery the firmware and the kernel lower the clock, and more so as the charge falls",
				Advice: "plug it in",
			})
		}
	}
	zones, err := fs.Names("sys", "class", "thermal")
	if err != nil {
		zones = nil
	}
	for _, zone := range zones {
		if f, hot := heat(fs, zone); hot {
			found = append(found, f)
		}
	}
	return found
}

// heat compares a thermal zone with the trip points at which the kernel or the firmware
// slows the CPU down. Temperatures are in millidegrees Celsius.
func heat(fs procfs.FS, zone string) (Finding, bool) {
	dir := []string{"sys", "class", "thermal", zone}
	now, ok := number(fs, append(dir, "temp")...)
	if !ok {
		return Finding{}, false
	}
	const trips = 32 // more than any zone has
	for i := range trips {
		point := fmt.Sprintf("trip_point_%d_", i)
		kind := text(fs, append(dir, point+"type")...)
		if kind == "" {
			break
		}
		at, ok := number(fs, append(dir, point+"temp")...)
		if !ok || at <= 0 || now < at || kind == "active" { // active: a fan
			continue
		}
		return Finding{
			Name: "temperature", Disturbs: true,
			Value:  fmt.Sprintf("%s %d °C, throttled from %d °C on", text(fs, append(dir, "type")...), now/1000, at/1000),
			Why:    "a hot CPU lowers its clock until it has cooled down",
			Advice: "let it cool down, or use shorter runs",
		}, true
	}
	return Finding{}, false
}

func guest(fs procfs.FS) []Finding {
	cpuinfo, err := fs.Lines("proc", "cpuinfo")
	if err != nil {
		return nil
	}
	name := virtual(fs, cpuinfo)
	if name == "" {
		return nil
	}
	return []Finding{{
		Name: "virtual machine", Value: name,
		Why:    "other guests share caches and cores invisibly, and the host sets the clock: rates vary, CPU per request varies less",
		Advice: "compare CPU per request, in interleaved blocks; redline bench does both",
	}}
}
