//go:build !purego

#include "textflag.h"

// Every constant is one 32-bit word that is broadcast to a register when used.
DATA c1f<>+0(SB)/4, $0x1f1f1f1f
GLOBL c1f<>(SB), RODATA|NOPTR, $4
DATA ctab<>+0(SB)/4, $0x09090909
GLOBL ctab<>(SB), RODATA|NOPTR, $4
DATA cdel<>+0(SB)/4, $0x7f7f7f7f
GLOBL cdel<>(SB), RODATA|NOPTR, $4
DATA ccolon<>+0(SB)/4, $0x3a3a3a3a
GLOBL ccolon<>(SB), RODATA|NOPTR, $4
DATA cbang<>+0(SB)/4, $0x21212121
GLOBL cbang<>(SB), RODATA|NOPTR, $4
DATA chash<>+0(SB)/4, $0x23232323
GLOBL chash<>(SB), RODATA|NOPTR, $4
DATA clow<>+0(SB)/4, $0x0f0f0f0f
GLOBL clow<>(SB), RODATA|NOPTR, $4

// tchar as two tables: bit h-2 of tokenLow[l] is set when the byte 0xhl is a
// tchar, and tokenHigh[h] is that bit. A byte is a tchar when the two have a bit
// in common. VPSHUFB answers 0 for an index from 0x80, which is right for tokens.
DATA tokenLow<>+0(SB)/8, $0x3f3f3f3f3f3e3f3a
DATA tokenLow<>+8(SB)/8, $0x1c3d1534153d3e3e
GLOBL tokenLow<>(SB), RODATA|NOPTR, $16
DATA tokenHigh<>+0(SB)/8, $0x2010080402010000
DATA tokenHigh<>+8(SB)/8, $0x0000000000000000
GLOBL tokenHigh<>(SB), RODATA|NOPTR, $16

// The bytes of a path as such a table: VCHAR without '#', '%', '?'. It goes with
// tokenHigh.
DATA pathLow<>+0(SB)/8, $0x3f3f3e3f3e3f3f3e
DATA pathLow<>+8(SB)/8, $0x1d3f3f3f3f3f3f3f
GLOBL pathLow<>(SB), RODATA|NOPTR, $16

// CTL: out = mask of the bytes of x that cannot stand in a value:
// (x <= 0x1f and not HTAB) or DEL. The comparison is min(x, 0x1f) == x, since
// AVX2 compares signed only. Wants Y10 = 0x1f, Y11 = HTAB, Y12 = DEL; spoils
// Y1, Y2, Y3.
#define CTL(x, out) \
	VPMINUB   x, Y10, Y1;  \
	VPCMPEQB  x, Y1, Y1;   \
	VPCMPEQB  x, Y11, Y2;  \
	VPANDN    Y1, Y2, Y1;  \
	VPCMPEQB  x, Y12, Y3;  \
	VPOR      Y3, Y1, Y1;  \
	VPMOVMSKB Y1, out

#define LOADCTL \
	VPBROADCASTD c1f<>(SB), Y10;  \
	VPBROADCASTD ctab<>(SB), Y11; \
	VPBROADCASTD cdel<>(SB), Y12

// COLON: out = mask of ':' in x. Wants Y13 = ':'; spoils Y1.
#define COLON(x, out) \
	VPCMPEQB  x, Y13, Y1; \
	VPMOVMSKB Y1, out

// JOIN: lo = lo | hi<<32.
#define JOIN(hi, lo) \
	SHLQ $32, hi; \
	ORQ  hi, lo

// func fillAVX2(w *Window, b []byte, from int) int
//
// SI  next byte            DX  bytes left, at most the window's
// DI  next word of Ctl; the word of Colon is 128 bytes further
// R8  first byte           R9  Ctl of the block before, R11  its pairs of marks
// AX  Ctl of this block    BX  Colon of this block
TEXT ·fillAVX2(SB), NOSPLIT, $0-48
	MOVQ w+0(FP), DI
	MOVQ b_base+8(FP), SI
	MOVQ b_len+16(FP), DX
	MOVQ from+32(FP), AX
	ADDQ AX, SI
	SUBQ AX, DX
	MOVQ SI, R8
	XORL R9, R9
	XORL R11, R11
	LOADCTL
	VPBROADCASTD ccolon<>(SB), Y13
	MOVQ $1024, AX
	CMPQ DX, AX
	CMOVQGT AX, DX

block:
	CMPQ DX, $64
	JLT  tail
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y4
	CTL(Y0, AX)
	CTL(Y4, CX)
	COLON(Y0, BX)
	COLON(Y4, R10)
	JOIN(CX, AX)
	JOIN(R10, BX)
	MOVQ AX, (DI)
	MOVQ BX, 128(DI)
	ADDQ $64, SI
	ADDQ $8, DI
	SUBQ $64, DX

	// Four marks in a row that end in this block: bit i of CX is marks i-1 and i,
	// bit i of R10 is those two pairs from i-3 on. What came before the block is
	// shifted in from below.
	BTQ  $63, R9
	MOVQ AX, CX
	ADCQ CX, CX
	ANDQ AX, CX
	SHRQ $62, R11
	LEAQ (R11)(CX*4), R10
	MOVQ CX, R11
	MOVQ AX, R9
	ANDQ CX, R10
	JZ   block

	SUBQ R8, SI
	MOVQ SI, ret+40(FP)
	VZEROUPPER
	RET

	// Fewer than 64 bytes are left, and they are the last of b. They are read
	// together with bytes before them, never with what lies behind.
tail:
	TESTQ DX, DX
	JZ    done
	MOVQ  b_len+16(FP), R11
	LEAQ  (SI)(DX*1), R12
	CMPQ  R11, $64
	JLT   short

	// The last 64 bytes of b, shifted down by what was seen already.
	VMOVDQU -64(R12), Y0
	VMOVDQU -32(R12), Y4
	CTL(Y0, AX)
	CTL(Y4, CX)
	COLON(Y0, BX)
	COLON(Y4, R10)
	JOIN(CX, AX)
	JOIN(R10, BX)
	MOVQ $64, CX
	SUBQ DX, CX
	SHRQ CX, AX
	SHRQ CX, BX
	JMP  store

short:
	// b has 32 to 63 bytes.
	VMOVDQU -32(R12), Y4
	CTL(Y4, AX)
	COLON(Y4, BX)
	CMPQ DX, $32
	JGE  overlap
	MOVQ $32, CX
	SUBQ DX, CX
	SHRQ CX, AX
	SHRQ CX, BX
	JMP  store

overlap:
	// The first 32 and the last 32 of what is left; where they overlap they agree.
	VMOVDQU (SI), Y0
	LEAQ -32(DX), CX
	SHLQ CX, AX
	SHLQ CX, BX
	CTL(Y0, R10)
	COLON(Y0, R11)
	ORQ  R10, AX
	ORQ  R11, BX

store:
	MOVQ AX, (DI)
	MOVQ BX, 128(DI)

done:
	ADDQ DX, SI
	SUBQ R8, SI
	MOVQ SI, ret+40(FP)
	VZEROUPPER
	RET

// RUN is the body of the functions that measure one run in b, of which there are
// 32 bytes at least: whole registers first, then the last 32 bytes of b, of which
// some were seen before and cannot stop the run. stops(x, out) makes the mask of
// the bytes that end it. The length ends up in AX.
//
// SI  b    DX  len(b)    AX  index    CX  last index of a whole register
#define RUN(stops) \
	MOVQ    $-32, CX;       \
	ADDQ    DX, CX;         \
	XORL    AX, AX;         \
whole:;                         \
	VMOVDQU (SI)(AX*1), Y0; \
	stops(Y0, R8);          \
	TESTL   R8, R8;         \
	JNZ     found;          \
	ADDQ    $32, AX;        \
	CMPQ    AX, CX;         \
	JLE     whole;          \
	CMPQ    AX, DX;         \
	JEQ     end;            \
	MOVQ    CX, AX;         \
	VMOVDQU (SI)(AX*1), Y0; \
	stops(Y0, R8);          \
	TESTL   R8, R8;         \
	JNZ     found;          \
	MOVQ    DX, AX;         \
	JMP     end;            \
found:;                         \
	TZCNTL  R8, R8;         \
	ADDQ    R8, AX;         \
end:

// func valueAVX2(b []byte) int
TEXT ·valueAVX2(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), DX
	LOADCTL
	RUN(CTL)
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// NOTIN: out = mask of the bytes of x that the tables do not have. Wants Y9 = 0,
// Y10 = the low table, Y11 = tokenHigh, Y12 = 0x0f; spoils Y1, Y2.
#define NOTIN(x, out) \
	VPSHUFB   x, Y10, Y1;  \
	VPSRLW    $4, x, Y2;   \
	VPAND     Y12, Y2, Y2; \
	VPSHUFB   Y2, Y11, Y2; \
	VPAND     Y1, Y2, Y1;  \
	VPCMPEQB  Y1, Y9, Y1;  \
	VPMOVMSKB Y1, out

// func tokenAVX2(b []byte) int
TEXT ·tokenAVX2(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), DX
	VPXOR Y9, Y9, Y9
	VBROADCASTI128 tokenLow<>(SB), Y10
	VBROADCASTI128 tokenHigh<>(SB), Y11
	VPBROADCASTD clow<>(SB), Y12
	RUN(NOTIN)
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// func pathAVX2(b []byte) int
TEXT ·pathAVX2(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), DX
	VPXOR Y9, Y9, Y9
	VBROADCASTI128 pathLow<>(SB), Y10
	VBROADCASTI128 tokenHigh<>(SB), Y11
	VPBROADCASTD clow<>(SB), Y12
	RUN(NOTIN)
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// NOTQUERY: out = mask of the bytes of x that are less than '!', '#' or DEL. The
// comparison is max(x, '!') == x, since AVX2 compares signed only. Wants Y10 = '!',
// Y11 = '#', Y12 = DEL; spoils Y1, Y2, Y3.
#define NOTQUERY(x, out) \
	VPMAXUB   x, Y10, Y1;  \
	VPCMPEQB  x, Y1, Y1;   \
	VPCMPEQB  x, Y11, Y2;  \
	VPCMPEQB  x, Y12, Y3;  \
	VPOR      Y3, Y2, Y2;  \
	VPANDN    Y1, Y2, Y1;  \
	VPMOVMSKB Y1, out;     \
	NOTL      out

// func queryAVX2(b []byte) int
TEXT ·queryAVX2(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), DX
	VPBROADCASTD cbang<>(SB), Y10
	VPBROADCASTD chash<>(SB), Y11
	VPBROADCASTD cdel<>(SB), Y12
	RUN(NOTQUERY)
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET
