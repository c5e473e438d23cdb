package wire

import (
	"bytes"
	"encoding/binary"
)

// The inputs of a run are written in groups. A group is a header and one input
// that repeats, or a header and several inputs in a row, none like the one before
// it. Keys are held far longer than a packet reaches back, so that most runs are
// one group. There is one way to group given inputs: every stretch of two or more
// equal inputs repeats, and what lies between two such stretches is one group.
const (
	groupLiteral = 0x01 // several inputs in a row; otherwise one that repeats
	groupLast    = 0x02 // the run ends with this group
	groupShift   = 2    // the number of inputs, less the least allowed, is above

	leastLiteral = 1
	leastRepeat  = 2
)

// FitRun returns how many of the inputs, from the oldest, a run can carry in
// budget bytes, its head counted at its largest ([MaxRunHead]): 0 when not even
// one fits, and never more than a run or a packet may hold. With one more input
// the run would be too long, or could be if its ticks were large.
func FitRun(inputs []byte, stride, budget int) (ticks int) {
	if stride < 1 || stride > MaxStride {
		return 0
	}
	most := min(len(inputs)/stride, MaxRunTicks, MaxDecoded/stride)
	room := budget - MaxRunHead
	// The run so far: groups that can no longer change take closed bytes, and one
	// open group holds literal inputs in a row or repeats one input repeat times.
	// Adding an input never makes a run shorter, so the first that does not fit
	// ends the search.
	closed, literal, repeat := 0, 0, 0
	for ; ticks < most; ticks++ {
		switch {
		case ticks > 0 && bytes.Equal(inputAt(inputs, ticks, stride), inputAt(inputs, ticks-1, stride)):
			if repeat > 0 {
				repeat++
				break
			}
			// The input before belonged to the group in a row and leaves it.
			closed += literalSize(literal-1, stride)
			literal, repeat = 0, 2
		case repeat > 0:
			closed += repeatSize(repeat, stride)
			literal, repeat = 1, 0
		default:
			literal++
		}
		if closed+literalSize(literal, stride)+repeatSize(repeat, stride) > room {
			break
		}
	}
	return ticks
}

func inputAt(inputs []byte, i, stride int) []byte { return inputs[i*stride : (i+1)*stride] }

func literalSize(n, stride int) int {
	if n == 0 {
		return 0
	}
	return headerSize(n-leastLiteral) + n*stride
}

func repeatSize(n, stride int) int {
	if n == 0 {
		return 0
	}
	return headerSize(n-leastRepeat) + stride
}

// headerSize is the size of a group's header. MaxRunTicks fits two bytes.
func headerSize(n int) int {
	if n < 0x80>>groupShift {
		return 1
	}
	return 2
}

// appendGroups appends the inputs of a run; there is at least one.
func appendGroups(b, inputs []byte, stride int) []byte {
	for len(inputs) > 0 {
		n, h := stretch(inputs, stride), 0
		kept := inputs[:stride]
		if n > 1 {
			h = (n - leastRepeat) << groupShift
			inputs = inputs[n*stride:]
		} else {
			size := stride
			for size < len(inputs) && (size+stride == len(inputs) ||
				!bytes.Equal(inputs[size:size+stride], inputs[size+stride:size+2*stride])) {
				size += stride
			}
			h = (size/stride-leastLiteral)<<groupShift | groupLiteral
			kept, inputs = inputs[:size], inputs[size:]
		}
		if len(inputs) == 0 {
			h |= groupLast
		}
		b = binary.AppendUvarint(b, uint64(h))
		b = append(b, kept...)
	}
	return b
}

// stretch returns how many inputs at the start of inputs are equal.
func stretch(inputs []byte, stride int) int {
	// Inputs are equal as long as each byte equals the one a stride before it.
	next, same := inputs[stride:], 0
	for same+8 <= len(next) && binary.LittleEndian.Uint64(next[same:]) == binary.LittleEndian.Uint64(inputs[same:]) {
		same += 8
	}
	for same < len(next) && next[same] == inputs[same] {
		same++
	}
	return same/stride + 1
}

// parseGroups reads the inputs of a run into p.decoded and returns them. When
// p.decoded has to move, the runs parsed before keep the memory they have.
func (p *Packet) parseGroups(r *reader, stride int) []byte {
	start := len(p.decoded)
	ticks, afterLiteral := 0, false
	for last := false; !last; {
		h := r.number("the header of a group", MaxRunTicks<<groupShift)
		literal := h&groupLiteral != 0
		last = h&groupLast != 0
		n := int(h>>groupShift) + leastRepeat
		kept := stride
		if literal {
			n = int(h>>groupShift) + leastLiteral
			kept = n * stride
		}
		if ticks+n > MaxRunTicks {
			r.refuse("a run of %d ticks or more, and at most %d are allowed", ticks+n, MaxRunTicks)
		} else if size := len(p.decoded) + n*stride; size > MaxDecoded {
			r.refuse("the packet holds %d bytes of input or more, and at most %d are allowed", size, MaxDecoded)
		}
		in := r.take(kept)
		if r.err != nil {
			return nil
		}
		if why := misgrouped(in, p.decoded[start:], stride, literal, afterLiteral); why != "" {
			r.refuse("%s: the inputs could be written shorter", why)
			return nil
		}
		group := len(p.decoded)
		p.decoded = append(p.decoded, in...)
		for end := group + n*stride; len(p.decoded) < end; {
			p.decoded = append(p.decoded, p.decoded[group:min(len(p.decoded), group+end-len(p.decoded))]...)
		}
		ticks += n
		afterLiteral = literal
	}
	return p.decoded[start:len(p.decoded):len(p.decoded)]
}

// misgrouped says how a group departs from the one way to group inputs: in is
// what it holds, before the run's inputs that precede it.
func misgrouped(in, before []byte, stride int, literal, afterLiteral bool) string {
	if literal && afterLiteral {
		return "two groups in a row where one would do"
	}
	if n := len(before); n > 0 && bytes.Equal(before[n-stride:], in[:stride]) {
		return "a group begins with the input that the last one ended with"
	}
	for ; len(in) > stride; in = in[stride:] {
		if bytes.Equal(in[:stride], in[stride:2*stride]) {
			return "an input in a row equals the one before it"
		}
	}
	return ""
}
