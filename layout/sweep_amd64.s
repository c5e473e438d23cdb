#include "textflag.h"

// func sweepAVX2(b *byte, n int, ones, last uint64) int
//
// The sum of two lanes never carries into the next one: a lane holds an exponent and
// nothing below it, or nothing at all.
TEXT ·sweepAVX2(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), DI
	MOVQ n+8(FP), CX
	VPBROADCASTQ ones+16(FP), Y0
	VPBROADCASTQ last+24(FP), Y1
	VPCMPEQD Y2, Y2, Y2
	VPSLLD $31, Y2, Y2 // the sign's place of each lane

stride:
	VPAND -128(DI)(CX*1), Y0, Y3
	VPAND -96(DI)(CX*1), Y0, Y4
	VPAND -64(DI)(CX*1), Y0, Y5
	VPAND -32(DI)(CX*1), Y0, Y6
	VPADDD Y1, Y3, Y3
	VPADDD Y1, Y4, Y4
	VPADDD Y1, Y5, Y5
	VPADDD Y1, Y6, Y6
	VPOR Y3, Y4, Y3
	VPOR Y5, Y6, Y5
	VPOR Y3, Y5, Y3
	VPTEST Y2, Y3
	JNZ found
	SUBQ $128, CX
	JNZ stride

found:
	MOVQ CX, ret+32(FP)
	VZEROUPPER
	RET
