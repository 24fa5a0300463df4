package symbols

import (
	"bytes"
	"encoding/binary"
)

const maxRemembered = 64

// frameReader takes values from a description.
type frameReader struct {
	all  []byte
	at   int
	addr uint64 // of all
	bad  bool
}

func (r *frameReader) take(n uint64) []byte {
	if n > uint64(len(r.all)-r.at) {
		r.bad, r.at = true, len(r.all)
		return make([]byte, 8)
	}
	p := r.all[r.at : r.at+int(n)]
	r.at += int(n)
	return p
}

func (r *frameReader) byte() byte  { return r.take(1)[0] }
func (r *frameReader) u16() uint64 { return uint64(binary.LittleEndian.Uint16(r.take(2))) }
func (r *frameReader) u32() uint64 { return uint64(binary.LittleEndian.Uint32(r.take(4))) }
func (r *frameReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *frameReader) uleb() uint64 {
	v, n := binary.Uvarint(r.all[r.at:])
	if n <= 0 {
		r.bad, r.at = true, len(r.all)
		return 0
	}
	r.at += n
	return v
}

func (r *frameReader) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 64; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.bad = true
	return 0
}

// text takes a text that ends with a zero byte.
func (r *frameReader) text() string {
	n := bytes.IndexByte(r.all[r.at:], 0)
	if n < 0 {
		r.bad = true
		return ""
	}
	return string(r.take(uint64(n) + 1)[:n])
}

// pointer takes an address in one of the encodings of the Linux Standard Base, 10.5.1.
func (r *frameReader) pointer(encoding byte) uint64 {
	if encoding == 0xff {
		return 0
	}
	base := uint64(0)
	if encoding&0x70 == 0x10 { // relative to where it is written
		base = r.addr + uint64(r.at)
	}
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		return base + r.u64()
	case 0x02:
		return base + r.u16()
	case 0x0a:
		return base + uint64(int64(int16(r.u16())))
	case 0x03:
		return base + r.u32()
	case 0x0b:
		return base + uint64(int64(int32(r.u32())))
	}
	r.bad = true
	return 0
}

// run carries out instructions until they describe what is behind the address.
func (r *frameReader) run(m *machine, pc, until uint64) {
	for r.at < len(r.all) && !r.bad {
		op := r.byte()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case 0x40: // advance_loc
			pc += low * m.code
		case 0x80: // offset
			m.set(low, int64(r.uleb())*m.data, true)
		case 0xc0: // restore
			m.restore(low)
		default:
			pc += r.advance(op) * m.code
			r.extended(m, op)
		}
		if pc > until {
			return
		}
	}
}

// advance takes how far the instructions that only advance do so.
func (r *frameReader) advance(op byte) uint64 {
	switch op {
	case 0x02:
		return uint64(r.byte())
	case 0x03:
		return r.u16()
	case 0x04:
		return r.u32()
	}
	return 0
}

// extended carries out the instructions that have a byte of their own (DWARF 5, 7.24).
func (r *frameReader) extended(m *machine, op byte) {
	switch op {
	case 0x00, 0x02, 0x03, 0x04: // nop; to advance
	case 0x05: // offset_extended
		m.set(r.uleb(), int64(r.uleb())*m.data, true)
	case 0x06: // restore_extended
		m.restore(r.uleb())
	case 0x07, 0x08: // undefined, same_value
		m.set(r.uleb(), 0, false)
	case 0x0a: // remember_state
		if len(m.stack) >= maxRemembered {
			r.bad = true
			return
		}
		m.stack = append(m.stack, m.rules)
	case 0x0b: // restore_state
		if len(m.stack) == 0 {
			r.bad = true
			return
		}
		m.rules, m.stack = m.stack[len(m.stack)-1], m.stack[:len(m.stack)-1]
	case 0x0c: // def_cfa
		m.register, m.offset, m.unexpected = r.uleb(), int64(r.uleb()), false
	case 0x0d: // def_cfa_register
		m.register = r.uleb()
	case 0x0e: // def_cfa_offset
		m.offset = int64(r.uleb())
	case 0x0f: // def_cfa_expression: of the stubs of the linker, and of signals
		r.take(r.uleb())
		m.unexpected = true
	case 0x10, 0x16: // expression, val_expression
		if register := r.uleb(); register == registerBP || register == registerRA {
			m.unexpected = true
		}
		r.take(r.uleb())
	case 0x11: // offset_extended_sf
		m.set(r.uleb(), r.sleb()*m.data, true)
	case 0x12: // def_cfa_sf
		m.register, m.offset = r.uleb(), r.sleb()*m.data
	case 0x13: // def_cfa_offset_sf
		m.offset = r.sleb() * m.data
	case 0x2e: // GNU_args_size
		r.uleb()
	default:
		r.bad = true
	}
}
