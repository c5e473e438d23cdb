package fingerprint

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"fmt"
	"strconv"
)

// MaxDifferences is how many differences one call of [Hasher.Diff] or
// [Hasher.DiffBytes] reports.
const MaxDifferences = 64

// Difference is one field in which two states differ.
type Difference struct {
	// Path leads to the field: "Fighters[1].Health", and "(state)" for a state of basic
	// kind. Of a state with bytes of its own it is "byte 17", or by the names that it gives
	// them: "Units[3].Health", "Units[3] byte 2" where nobody says what a unit consists of,
	// and "len(Units)" for how many there are. "(size)" is no field: of bytes that are no
	// two states of one type, or that are not as many, it says how many there are.
	Path string
	// A and B are the values of the field in either state.
	A, B string
}

// String returns "Fighters[1].Health: 30 or 20".
func (d Difference) String() string { return d.Path + ": " + d.A + " or " + d.B }

// Diff appends the fields in which a and b differ to dst, in canonical order,
// and returns the longer slice: at most [MaxDifferences] of them, none if a and b
// have the same canonical bytes. Of states with bytes of their own it reports the
// first byte that differs, or what differs by the names that they give: see [Parted]. It
// reports nothing where AppendBinary fails, and no names where AppendParts does: see Err.
func (h *Hasher[S]) Diff(dst []Difference, a, b *S) []Difference {
	var okA, okB bool
	h.buf, okA = h.AppendBytes(h.buf[:0], a)
	h.other, okB = h.AppendBytes(h.other[:0], b)
	if !okA || !okB {
		return dst
	}
	if h.layout != nil {
		return h.DiffBytes(dst, h.buf, h.other)
	}
	w := walk{dst: dst, left: MaxDifferences}
	h.named, okA = h.partsOwn(h.named, a, len(h.buf))
	others, okB := h.partsOwn(nil, b, len(h.other))
	if okA && okB {
		w.parts(h.named, others, h.buf, h.other)
	} else {
		w.bytes(whole, h.buf, h.other)
	}
	return w.dst
}

// DiffBytes is [Hasher.Diff] of two states of which there are only the bytes, as
// [Hasher.AppendBytes] makes them. It keeps neither, and any bytes may be given: a
// length that no state has is a difference named "(size)", after those of the fields
// that both have.
//
// A state with bytes of its own is made out of a, by its UnmarshalBinary if it has one, to
// be asked what a's bytes are called; b's are called the same. Where they are not as many
// only the first field that differs is reported, and the size.
func (h *Hasher[S]) DiffBytes(dst []Difference, a, b []byte) []Difference {
	w := walk{dst: dst, left: MaxDifferences}
	if h.layout == nil {
		h.diffOwn(&w, a, b)
		return w.dst
	}
	size := h.layout.Size()
	w.fields("", h.layout, a[:min(len(a), size)], b[:min(len(b), size)])
	if len(a) != size || len(b) != size {
		w.size(a, b)
	}
	return w.dst
}

func (h *Hasher[S]) diffOwn(w *walk, a, b []byte) {
	if bytes.Equal(a, b) {
		return
	}
	parts := h.partsIn(a)
	if parts == nil {
		w.bytes(whole, a, b)
		return
	}
	if len(a) == len(b) {
		w.parts(parts, parts, a, b)
		return
	}
	w.left = 1
	for i, at := 0, 0; i < len(parts) && w.left > 0; i++ {
		from, to := min(at, len(b)), min(at+parts[i].Size, len(b))
		w.part(&parts[i], &parts[i], a[at:][:parts[i].Size], b[from:to])
		at += parts[i].Size
	}
	w.left = 1
	w.size(a, b)
}

// partsIn returns what a state's own bytes consist of; nil: nobody says.
func (h *Hasher[S]) partsIn(b []byte) []Part {
	s := new(S)
	parted, ok := any(s).(Parted)
	if !ok {
		return nil
	}
	if from, ok := any(s).(encoding.BinaryUnmarshaler); !ok || from.UnmarshalBinary(b) != nil {
		return nil
	}
	parts := parted.AppendParts(nil)
	if checkParts(parts, len(b)) != nil {
		return nil
	}
	return parts
}

// walk collects differences, as many as are left to be reported.
type walk struct {
	dst  []Difference
	left int
}

func (w *walk) add(path, a, b string) {
	if w.left > 0 {
		w.dst = append(w.dst, Difference{Path: path, A: a, B: b})
		w.left--
	}
}

func (w *walk) size(a, b []byte) {
	w.add("(size)", strconv.Itoa(len(a))+" bytes", strconv.Itoa(len(b))+" bytes")
}

// parts compares two states' own bytes by what they consist of, which is called alike.
func (w *walk) parts(ofA, ofB []Part, a, b []byte) {
	for i := range ofA {
		sizeA, sizeB := ofA[i].Size, ofB[i].Size
		w.part(&ofA[i], &ofB[i], a[:sizeA], b[:sizeB])
		a, b = a[sizeA:], b[sizeB:]
	}
}

func (w *walk) part(ofA, ofB *Part, a, b []byte) {
	if bytes.Equal(a, b) {
		return
	}
	size, n := ofA.element(), 1
	if ofA.List && ofB.List {
		if n = min(ofA.Count, ofB.Count); ofA.Count != ofB.Count {
			w.add("len("+ofA.Path+")", strconv.Itoa(ofA.Count), strconv.Itoa(ofB.Count))
		}
	}
	if min(len(a), len(b)) < n*size || ofA.List != ofB.List || ofB.element() != size && n > 0 {
		w.bytes(ofA.Path, a, b)
		return
	}
	for i := 0; i < n && w.left > 0; i++ {
		path := ofA.Path
		if ofA.List {
			path += "[" + strconv.Itoa(i) + "]"
		}
		w.piece(path, ofA.Of, a[i*size:][:size], b[i*size:][:size])
	}
}

func (w *walk) piece(path string, of Fields, a, b []byte) {
	switch {
	case bytes.Equal(a, b):
	case of != nil:
		w.fields(path, of, a, b)
	default:
		w.bytes(path, a, b)
	}
}

// fields compares canonical bytes field by field, as far as both have them.
func (w *walk) fields(path string, of Fields, a, b []byte) {
	have := min(len(a), len(b))
	for at := 0; at < have && w.left > 0; {
		if a[at] == b[at] {
			at++
			continue
		}
		f, err := of.At(at)
		if err != nil || at < f.Offset || at >= f.Offset+f.Size || f.Offset < 0 {
			w.bytes(path, a, b) // what the bytes are said to be of is no layout
			return
		}
		end := f.Offset + f.Size
		if end > have {
			return // the field is cut off, which the size says
		}
		bytesA, bytesB := a[f.Offset:end], b[f.Offset:end]
		textA, textB := f.Format(bytesA), f.Format(bytesB)
		if textA == textB { // not canonical, as a bool of 2 is
			textA, textB = fmt.Sprintf("%s (% x)", textA, bytesA), fmt.Sprintf("%s (% x)", textB, bytesB)
		}
		w.add(orWhole(below(path, f.Path)), textA, textB)
		at = end
	}
}

// below returns the path of a field of what path leads to.
func below(path, field string) string {
	if path == "" || field == "" || field[0] == '[' {
		return path + field
	}
	return path + "." + field
}

// bytes names the first byte that differs.
func (w *walk) bytes(path string, a, b []byte) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return
	}
	name := "byte " + strconv.Itoa(at)
	if path != whole {
		name = path + " " + name
	}
	w.add(name, byteAt(a, at), byteAt(b, at))
}

func byteAt(b []byte, at int) string {
	if at >= len(b) {
		return "nothing: it ends after " + strconv.Itoa(len(b)) + " bytes"
	}
	return "0x" + hex.EncodeToString(b[at:at+1])
}
