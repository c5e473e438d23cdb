package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A run is written as its shape, which says for how many ticks each of its values is
// held, and its values, none like the one before it. A shape has three forms, so that the
// usual runs take least: those that reach back over a few ticks, in which nothing or
// one thing has changed. Which one a run has follows from its inputs.
//
// Few ticks of one value: the head says how many. Few ticks of several values: a
// pattern, a byte with a bit for each tick after the first, set where the value
// changes, and a last one above them. All else: groups, each a header and one value
// that repeats, or a header and several in a row. Every stretch of two or more equal
// inputs is a group, and what lies between two of those is one.
const (
	formShift   = 5 // a run's form is above the other bits of its head
	formGroups  = 0
	formPattern = 7
	// A form in between is the number of ticks for which the only value is held.
	mostAlike   = 6
	mostPattern = 8

	groupLiteral = 0x01 // several inputs in a row; otherwise one that repeats
	groupLast    = 0x02 // the run ends with this group
	groupShift   = 2    // the number of inputs, less the least allowed, is above

	leastLiteral = 1
	leastRepeat  = 2
)

// MaxRunSize returns how many bytes a run of so many inputs may take at most, its head
// included.
func MaxRunSize(ticks, stride int) int {
	// A header for each of two groups in three ticks takes no more than a mask for each
	// of three inputs in a row.
	return MaxRunHead + 2 + ticks*maxChangeSize(stride)
}

// FitRun returns how many of the inputs, from the oldest, a run can carry in
// budget bytes, its head counted at its largest ([MaxRunHead]): 0 when not even
// one fits, and never more than a run or a packet may hold. With one more input
// the run would be too long, or could be if its ticks were large or if another run
// of the packet were written better in the other way.
func FitRun(inputs []byte, stride, budget int) (ticks int) {
	if stride < 1 || stride > MaxStride {
		return 0
	}
	most := min(len(inputs)/stride, MaxRunTicks, MaxDecoded/stride)
	if MaxRunSize(most, stride) <= budget {
		return most
	}
	room := budget - MaxRunHead
	// The run so far: groups that can no longer change have headers of closed bytes, and
	// one open group holds literal inputs in a row or repeats one input repeat times.
	// Adding an input never makes a run shorter, so the first that does not fit
	// ends the search.
	closed, literal, repeat := 0, 0, 0
	values, changes := 0, 0
	last := zeros[:stride]
	for ; ticks < most; ticks++ {
		in := inputAt(inputs, ticks, stride)
		if equal := ticks > 0 && bytes.Equal(in, last); equal && repeat > 0 {
			repeat++
		} else if equal {
			// The input before belonged to the group in a row and leaves it.
			closed += headerSize(literal-1, leastLiteral)
			literal, repeat = 0, 2
		} else {
			if repeat > 0 {
				closed += headerSize(repeat, leastRepeat)
				literal, repeat = 0, 0
			}
			literal++
			values++
			changes += changeSize(last, in)
		}
		last = in
		shape := closed + headerSize(literal, leastLiteral) + headerSize(repeat, leastRepeat)
		switch {
		case values == 1 && ticks < mostAlike:
			shape = 0
		case values > 1 && ticks < mostPattern:
			shape = 1
		}
		if shape+min(values*stride, changes) > room {
			break
		}
	}
	return ticks
}

func inputAt(inputs []byte, i, stride int) []byte { return inputs[i*stride : (i+1)*stride] }

// headerSize is the size of the header of a group of n inputs, or 0 if n is 0.
// MaxRunTicks fits two bytes.
func headerSize(n, least int) int {
	switch {
	case n == 0:
		return 0
	case n-least < 0x80>>groupShift:
		return 1
	}
	return 2
}

// shape is what is to be known of a run's inputs before they are written.
type shape struct {
	form, pattern byte
	alike         uint16 // how many inputs at its start are equal
}

// survey returns a run's shape, and how many bytes it is shorter if its inputs are
// written as changes.
func survey(inputs []byte, stride int) (s shape, saves int) {
	n := len(inputs) / stride
	alike := stretch(inputs, stride)
	s.alike = uint16(alike)
	switch {
	case alike == n && n <= mostAlike:
		s.form = byte(n)
	case alike < n && n <= mostPattern:
		s.form, s.pattern = formPattern, 1<<(n-1)
	}
	last, in := zeros[:stride], inputs[:stride]
	saves = stride - changeSize(last, in)
	for i := alike; i < n; i++ {
		last, in = in, inputAt(inputs, i, stride)
		if size := changeSize(last, in); size > sizeOfNone(stride) {
			saves += stride - size
			if s.form == formPattern {
				s.pattern |= 1 << (i - 1)
			}
		}
	}
	return s, saves
}

// appendRun appends the inputs of a run, of which there is at least one, in the form
// that its head gives.
func (w *writer) appendRun(s shape, inputs []byte, stride int, changes bool) {
	if s.form == formGroups {
		w.appendGroups(int(s.alike), inputs, stride, changes)
		return
	}
	if s.form == formPattern {
		w.b = append(w.b, s.pattern)
	}
	last := zeros[:stride]
	w.appendValue(last, inputs[:stride], changes)
	for p := s.pattern; p > 1; p >>= 1 {
		last, inputs = inputs[:stride], inputs[stride:]
		if p&1 != 0 {
			w.appendValue(last, inputs[:stride], changes)
		}
	}
}

// appendGroups appends groups; the first alike inputs are known to be equal.
func (w *writer) appendGroups(alike int, inputs []byte, stride int, changes bool) {
	last := zeros[:stride]
	for n := alike; len(inputs) > 0; {
		h := 0
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
		w.b = binary.AppendUvarint(w.b, uint64(h))
		if !changes {
			w.b = append(w.b, kept...)
		}
		for ; changes && len(kept) > 0; kept = kept[stride:] {
			w.b = appendChange(w.b, last, kept[:stride])
			last = kept[:stride]
		}
		if len(inputs) > 0 {
			n = stretch(inputs, stride)
		}
	}
}

func (w *writer) appendValue(last, in []byte, changes bool) {
	if changes {
		w.b = appendChange(w.b, last, in)
	} else {
		w.b = append(w.b, in...)
	}
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

// parseRun reads the inputs of a run into p.decoded and returns them. When
// p.decoded has to move, the runs parsed before keep the memory they have.
func (p *Packet) parseRun(r *reader, form byte, stride int, changes bool) []byte {
	start := len(p.decoded)
	switch form {
	case formGroups:
		p.parseGroups(r, stride, changes)
	case formPattern:
		p.parsePattern(r, stride, changes)
	default:
		if p.room(r, 0, int(form), stride); r.err == nil {
			p.parseValue(r, start, stride, changes)
		}
		if r.err == nil {
			p.repeat(start, int(form), stride)
		}
	}
	if r.err != nil {
		return nil
	}
	return p.decoded[start:len(p.decoded):len(p.decoded)]
}

// room refuses n more ticks of a run that has so many, if they are too many.
func (p *Packet) room(r *reader, ticks, n, stride int) {
	if ticks+n > MaxRunTicks {
		r.refuse("a run of %d ticks or more, and at most %d are allowed", ticks+n, MaxRunTicks)
	} else if size := len(p.decoded) + n*stride; size > MaxDecoded {
		r.refuse("the packet holds %d bytes of input or more, and at most %d are allowed", size, MaxDecoded)
	}
}

// parseValue reads an input of a run that began at start. It must differ from the one
// before, and r counts what writing it as a change saves.
func (p *Packet) parseValue(r *reader, start, stride int, changes bool) {
	at := len(p.decoded)
	last := zeros[:stride]
	if at > start {
		last = p.decoded[at-stride:]
	}
	from := r.at
	var size int
	if changes {
		p.decoded = append(p.decoded, last...)
		r.change(p.decoded[at:])
		size = r.at - from
	} else if in := r.take(stride); in != nil {
		size = changeSize(last, in)
		p.decoded = append(p.decoded, in...)
	}
	if at > start && size == sizeOfNone(stride) {
		r.refuse("an input equals the one before it: the inputs could be written shorter")
	}
	r.saves += stride - size
}

// repeat writes the input at the given place of p.decoded out n times.
func (p *Packet) repeat(at, n, stride int) {
	for end := at + n*stride; len(p.decoded) < end; {
		p.decoded = append(p.decoded, p.decoded[at:min(len(p.decoded), at+end-len(p.decoded))]...)
	}
}

func (p *Packet) parsePattern(r *reader, stride int, changes bool) {
	pattern := r.byte()
	n := bits.Len8(pattern)
	if r.err == nil && pattern&(pattern-1) == 0 {
		r.refuse("a pattern of %#x in which nothing changes: the inputs could be written shorter", pattern)
	}
	start := len(p.decoded)
	if p.room(r, 0, n, stride); r.err != nil {
		return
	}
	p.parseValue(r, start, stride, changes)
	for ; pattern > 1 && r.err == nil; pattern >>= 1 {
		if pattern&1 != 0 {
			p.parseValue(r, start, stride, changes)
		} else {
			p.decoded = append(p.decoded, p.decoded[len(p.decoded)-stride:]...)
		}
	}
}

func (p *Packet) parseGroups(r *reader, stride int, changes bool) {
	start := len(p.decoded)
	ticks, afterLiteral, alike := 0, false, false
	for last := false; !last; {
		h := r.number("the header of a group", MaxRunTicks<<groupShift)
		literal := h&groupLiteral != 0
		last = h&groupLast != 0
		n, kept := int(h>>groupShift)+leastRepeat, 1
		if literal {
			n = int(h>>groupShift) + leastLiteral
			kept = n
		}
		group := len(p.decoded)
		if p.room(r, ticks, n, stride); r.err != nil {
			return
		}
		if literal && afterLiteral {
			r.refuse("two groups in a row where one would do: the inputs could be written shorter")
		}
		for ; kept > 0 && r.err == nil; kept-- {
			p.parseValue(r, start, stride, changes)
		}
		if r.err != nil {
			return
		}
		p.repeat(group, n, stride)
		ticks += n
		alike = last && ticks == n && !literal
		afterLiteral = literal
	}
	if alike && ticks <= mostAlike || !alike && ticks <= mostPattern {
		r.refuse("groups of %d ticks: the inputs could be written shorter", ticks)
	}
}
