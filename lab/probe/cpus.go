package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is the highest CPU number that a list may contain: the kernel's own limit is 8191,
// and a mistyped range must not fill the memory.
const maxCPU = 1<<16 - 1

// ParseCPUs parses a list of CPUs in the kernel's format, "0-3,7". The result is sorted,
// without duplicates and not empty.
func ParseCPUs(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := parseCPU(first)
		high := low
		if err == nil && isRange {
			high, err = parseCPU(last)
		}
		if err == nil && high < low {
			err = fmt.Errorf("%q runs backwards", part)
		}
		if err != nil {
			return nil, fmt.Errorf("parse CPU list %q: %w", text, err)
		}
		for c := low; c <= high; c++ {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func parseCPU(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no CPU; want a list like 0-3,7", text)
	}
	if n > maxCPU {
		return 0, fmt.Errorf("%d is beyond the highest CPU, %d", n, maxCPU)
	}
	return int(n), nil
}

// FormatCPUs formats CPUs as the kernel does, "0-3,7".
func FormatCPUs(cpus []int) string {
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
