package gomem

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	maxDebug   = 512 << 20 // bytes of one decompressed section of debugging information
	maxEntries = 20 << 20  // entries that are looked at to find the types
	maxMembers = 4096      // members of one structure
)

// errNoDebug means that a binary has no debugging information.
var errNoDebug = fmt.Errorf("%w: the binary has no debugging information (-ldflags=-w)", ErrLayout)

// debugLayout reads the layout of the runtime from the binary's debugging information.
func (im *image) debugLayout() (l layout, err error) {
	defer guard(&err)
	data, units, err := debugData(im.elf)
	if err != nil {
		return nil, err
	}
	d := &debugReader{data: data, left: maxEntries}
	types, err := d.find(units)
	if err != nil {
		return nil, fmt.Errorf("read the types of the runtime: %w", err)
	}
	if len(types) == 0 { // that of C alone
		return nil, errNoDebug
	}
	l = layout{}
	for _, s := range structures {
		off, ok := types[s.typ]
		if !ok {
			continue
		}
		for _, w := range s.fields {
			for _, path := range w.paths {
				if p, ok := d.path(off, path); ok && fits(w.name, p.Size) {
					l[w.name] = p
					break
				}
			}
		}
	}
	return l, l.check()
}

// debugData loads the sections that describe types, and the offsets of the units.
func debugData(f *elf.File) (*dwarf.Data, []dwarf.Offset, error) {
	load := func(name string) ([]byte, error) {
		s := f.Section(".debug_" + name)
		if s == nil {
			if s = f.Section(".zdebug_" + name); s != nil {
				return nil, fmt.Errorf("%w: debugging information in the format of before Go 1.19", ErrLayout)
			}
			return nil, nil
		}
		if s.Size > maxDebug {
			return nil, tooLarge(s.Name, s.Size, maxDebug)
		}
		b, err := io.ReadAll(io.LimitReader(s.Open(), maxDebug+1))
		if err == nil && len(b) > maxDebug {
			err = tooLarge(s.Name, uint64(len(b)), maxDebug)
		}
		return b, err
	}
	parts := map[string][]byte{}
	for _, name := range []string{"abbrev", "info", "str", "addr", "str_offsets", "line_str"} {
		b, err := load(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read .debug_%s: %w", name, err)
		}
		parts[name] = b
	}
	if len(parts["info"]) == 0 || len(parts["abbrev"]) == 0 {
		return nil, nil, errNoDebug
	}
	data, err := dwarf.New(parts["abbrev"], nil, nil, parts["info"], nil, nil, nil, parts["str"])
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"addr", "str_offsets", "line_str"} {
		if err := data.AddSection(".debug_"+name, parts[name]); err != nil {
			return nil, nil, err
		}
	}
	return data, unitOffsets(parts["info"]), nil
}

// unitOffsets returns where the first entry of each unit is (DWARF 5, section 7.5.1). debug/dwarf
// would read every entry on the way to the next unit.
func unitOffsets(info []byte) []dwarf.Offset {
	var offs []dwarf.Offset
	for at := 0; at+12 <= len(info); {
		size := int(binary.LittleEndian.Uint32(info[at:]))
		if size >= 0xfffffff0 || size == 0 || size > len(info)-at-4 {
			return offs // the 64-bit format, which Go does not write, or damage
		}
		head := 11
		if binary.LittleEndian.Uint16(info[at+4:]) >= 5 {
			head = 12
		}
		offs = append(offs, dwarf.Offset(at+head))
		at += 4 + size
	}
	return offs
}

type debugReader struct {
	data *dwarf.Data
	left int // entries that may still be read
}

// find returns the offsets of the structures' types.
func (d *debugReader) find(units []dwarf.Offset) (map[string]dwarf.Offset, error) {
	wanted := map[string]bool{}
	for _, s := range structures {
		wanted[s.typ] = true
	}
	found := map[string]dwarf.Offset{}
	r := d.data.Reader()
	for _, off := range units {
		if len(found) == len(wanted) {
			break
		}
		r.Seek(off)
		unit, err := r.Next()
		if err != nil {
			return nil, err
		}
		if unit == nil || unit.Tag != dwarf.TagCompileUnit || unit.Val(dwarf.AttrName) != "runtime" {
			continue
		}
		if err := d.unit(r, wanted, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unit looks for types in the rest of a unit.
func (d *debugReader) unit(r *dwarf.Reader, wanted map[string]bool, found map[string]dwarf.Offset) error {
	for depth := 1; depth > 0 && len(found) < len(wanted); {
		if d.left--; d.left < 0 {
			return tooLarge("debugging information", maxEntries, maxEntries)
		}
		e, err := r.Next()
		switch {
		case err != nil:
			return err
		case e == nil:
			return nil
		case e.Tag == 0:
			depth--
		case e.Tag == dwarf.TagStructType && depth == 1:
			if name, _ := e.Val(dwarf.AttrName).(string); wanted[name] {
				found[name] = e.Offset
			}
			fallthrough
		default:
			if e.Children {
				depth++
			}
		}
	}
	return nil
}

// path returns where a field of a structure is: "gFree.stack.size".
func (d *debugReader) path(off dwarf.Offset, path string) (place, bool) {
	p := place{}
	for _, name := range strings.Split(path, ".") {
		member, ok := d.member(off, name)
		if !ok {
			return p, false
		}
		at, ok := member.Val(dwarf.AttrDataMemberLoc).(int64)
		if !ok {
			return p, false
		}
		p.Offset += int(at)
		if off, ok = member.Val(dwarf.AttrType).(dwarf.Offset); !ok {
			return p, false
		}
		if off, p.Size, ok = d.resolve(off); !ok {
			return p, false
		}
	}
	return p, true
}

// member finds a member of the structure at an offset.
func (d *debugReader) member(off dwarf.Offset, name string) (*dwarf.Entry, bool) {
	r := d.data.Reader()
	r.Seek(off)
	if e, err := r.Next(); err != nil || e == nil || e.Tag != dwarf.TagStructType || !e.Children {
		return nil, false
	}
	for range maxMembers {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return nil, false
		}
		if e.Tag == dwarf.TagMember && e.Val(dwarf.AttrName) == name {
			return e, true
		}
		if e.Children {
			r.SkipChildren()
		}
	}
	return nil, false
}

// resolve follows names of types to the type itself, and returns its size in bytes.
func (d *debugReader) resolve(off dwarf.Offset) (dwarf.Offset, int, bool) {
	for range 8 {
		r := d.data.Reader()
		r.Seek(off)
		e, err := r.Next()
		if err != nil || e == nil {
			return 0, 0, false
		}
		if size, ok := e.Val(dwarf.AttrByteSize).(int64); ok {
			return off, int(size), true
		}
		if e.Tag == dwarf.TagPointerType {
			return off, 8, true
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return 0, 0, false
		}
		off = next
	}
	return 0, 0, false
}
