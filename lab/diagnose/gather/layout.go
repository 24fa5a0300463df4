package gather

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

const (
	// cacheLine is the size of what CPUs take from each other, in bytes.
	cacheLine = 64
	// mostNeighbours bounds the list of types.
	mostNeighbours = 64
)

// Layout adds what is known of the layout of a Go program's types. A program without debugging
// information has none.
func Layout(s *diagnose.Server) (err error) {
	s.Neighbours, err = neighbours(s)
	return err
}

// neighbours returns the types of a Go program's own code in which two atomic values may be in the same
// cache line, by its debugging information. There are none if it has no such information.
func neighbours(s *diagnose.Server) ([]diagnose.Neighbours, error) {
	f, err := elf.Open(filepath.Join("/proc", strconv.Itoa(s.PIDs[0]), "exe"))
	if err != nil {
		return nil, fmt.Errorf("layout of types: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return nil, nil
	}
	d, err := f.DWARF()
	if err != nil {
		return nil, fmt.Errorf("layout of types: %w", err)
	}
	var list []diagnose.Neighbours
	seen := map[string]bool{}
	for r := d.Reader(); len(list) < mostNeighbours; {
		e, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("layout of types: %w", err)
		}
		if e == nil {
			return list, nil
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag != dwarf.TagTypedef && e.Tag != dwarf.TagStructType || seen[name] || !own(name, s.Module) {
			continue
		}
		seen[name] = true
		t, err := d.Type(e.Offset)
		if err != nil {
			continue // a type that debug/dwarf does not know
		}
		if what := adjacent(t); what != "" {
			list = append(list, diagnose.Neighbours{Type: name, What: what})
		}
	}
	return list, nil
}

// own reports whether a type belongs to the main module.
func own(name, module string) bool {
	return strings.HasPrefix(name, "main.") || module != "" && (strings.HasPrefix(name, module+".") || strings.HasPrefix(name, module+"/"))
}

// adjacent says which atomic values of a type are within a cache line of each other; empty: none.
func adjacent(t dwarf.Type) string {
	if named, ok := t.(*dwarf.TypedefType); ok {
		t = named.Type
	}
	switch t := t.(type) {
	case *dwarf.ArrayType:
		if size := t.Type.Size(); t.Count > 1 && size > 0 && size < cacheLine && atomic(t.Type) {
			return fmt.Sprintf("%d atomic values, %d bytes apart", t.Count, size)
		}
	case *dwarf.StructType:
		var last *dwarf.StructField
		for _, f := range t.Field {
			if !atomic(f.Type) {
				if what := adjacent(f.Type); what != "" {
					return f.Name + " has " + what
				}
				continue
			}
			if last != nil && f.ByteOffset-last.ByteOffset < cacheLine {
				return fmt.Sprintf("%s and %s, %d bytes apart", last.Name, f.Name, f.ByteOffset-last.ByteOffset)
			}
			last = f
		}
	}
	return ""
}

// atomic reports whether a type is one of package sync/atomic, or a struct that begins with one.
func atomic(t dwarf.Type) bool {
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return isAtomic(t.Name) || atomic(t.Type)
	case *dwarf.StructType:
		return isAtomic(t.StructName) || len(t.Field) > 0 && atomic(t.Field[0].Type)
	}
	return false
}

func isAtomic(name string) bool {
	name, ok := strings.CutPrefix(name, "sync/atomic.")
	return ok && name != "noCopy" && name != "align64"
}
