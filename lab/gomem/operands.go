package gomem

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A witness is a function of the runtime that uses a variable, at an offset within it. In
// JSON it is "runtime.gcount+40".
type witness struct {
	Func   string
	Offset uint64
}

// MarshalJSON writes the function and the offset as one word.
func (w witness) MarshalJSON() ([]byte, error) {
	return json.Marshal(w.Func + "+" + strconv.FormatUint(w.Offset, 10))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *witness) UnmarshalJSON(p []byte) error {
	var s string
	if err := json.Unmarshal(p, &s); err != nil {
		return err
	}
	name, offset, ok := strings.Cut(s, "+")
	if !ok {
		return fmt.Errorf("decode witness %q: no offset", s)
	}
	n, err := strconv.ParseUint(offset, 10, 32)
	*w = witness{name, n}
	return err
}

// elect returns the address that most witnesses agree on. used has the addresses in the code of
// each function. At least three quarters must agree, and no other address may have as many
// votes.
func elect(ws []witness, used map[string][]uint64) (addr uint64, ok bool) {
	votes := map[uint64]int{}
	for _, w := range ws {
		addrs := slices.Compact(slices.Sorted(slices.Values(used[w.Func])))
		for _, a := range addrs {
			if base := a - w.Offset; base%4 == 0 {
				votes[base]++
			}
		}
	}
	type entry struct {
		addr  uint64
		votes int
	}
	var list []entry
	for a, n := range votes {
		list = append(list, entry{a, n})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(a.addr, b.addr)) })
	if len(list) == 0 || list[0].votes*4 < len(ws)*3 || len(list) > 1 && list[1].votes == list[0].votes {
		return 0, false
	}
	return list[0].addr, true
}

// operandsAMD64 calls f with the addresses that instructions refer to relative to themselves:
// those with a ModR/M byte of mod 0 and r/m 5 (Intel SDM, volume 2, section 2.2.1.6). It tries
// every byte as such an instruction instead of decoding the stream. What it takes wrongly for
// an operand hardly ever lies within the data, and does not agree with other functions.
func operandsAMD64(code []byte, start uint64, f func(uint64)) {
	for i := 2; i+4 <= len(code); i++ {
		if code[i-1]&0xc7 != 0x05 {
			continue
		}
		disp := int64(int32(binary.LittleEndian.Uint32(code[i:])))
		f(start + uint64(i) + 4 + uint64(immediate(code[max(0, i-3):i])) + uint64(disp))
	}
}

// immediate returns how many bytes follow the displacement of an instruction, of which p ends
// with the opcode and the ModR/M byte.
func immediate(p []byte) int {
	op, reg := p[len(p)-2], p[len(p)-1]>>3&7
	if len(p) == 3 && p[0] == 0x0f {
		if op == 0xba { // BT and similar
			return 1
		}
		return 0
	}
	switch op {
	case 0x80, 0x83, 0xc0, 0xc1, 0x6b, 0xc6:
		return 1
	case 0x81, 0x69, 0xc7:
		if len(p) == 3 && p[0] == 0x66 {
			return 2
		}
		return 4
	case 0xf6:
		if reg < 2 { // TEST
			return 1
		}
	case 0xf7:
		if reg < 2 {
			return 4
		}
	}
	return 0
}

// operandsARM64 calls f with the addresses that ADRP and the next instruction form: an ADD, or
// a load or store with an offset (Arm ARM, sections C6.2.13, C6.2.5 and C4.1.94). Go's
// assembler always writes them one after the other.
func operandsARM64(code []byte, start uint64, f func(uint64)) {
	for i := 0; i+8 <= len(code); i += 4 {
		in, next := binary.LittleEndian.Uint32(code[i:]), binary.LittleEndian.Uint32(code[i+4:])
		if in&0x9f000000 != 0x90000000 || next>>5&31 != in&31 {
			continue
		}
		imm := int64(int32(in<<8)>>13<<2) | int64(in>>29&3)
		page := (start+uint64(i))&^0xfff + uint64(imm<<12)
		off := uint64(next >> 10 & 0xfff)
		switch {
		case next&0xffc00000 == 0x91000000: // ADD, 64 bits
			f(page + off)
		case next&0x3b000000 == 0x39000000: // LDR and STR of general and vector registers
			f(page + off<<(next>>30))
		}
	}
}
