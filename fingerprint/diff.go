package fingerprint

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// MaxDifferences is how many differences one call of [Hasher.Diff] or
// [Hasher.DiffBytes] reports.
const MaxDifferences = 64

// Difference is one field in which two states differ.
type Difference struct {
	// Path leads to the field: "Fighters[1].Health". For a state with bytes of its
	// own it is "byte 17", and for one of basic kind "(state)". "(size)" is no field: of
	// bytes that are no two states of one type it says how many there are.
	Path string
	// A and B are the values of the field in either state.
	A, B string
}

// String returns "Fighters[1].Health: 30 or 20".
func (d Difference) String() string { return d.Path + ": " + d.A + " or " + d.B }

// Diff appends the fields in which a and b differ to dst, in canonical order,
// and returns the longer slice: at most [MaxDifferences] of them, none if a and b
// have the same canonical bytes. Of states with bytes of their own it reports the
// first byte that differs, and nothing where AppendBinary fails: see Err.
func (h *Hasher[S]) Diff(dst []Difference, a, b *S) []Difference {
	var okA, okB bool
	h.buf, okA = h.AppendBytes(h.buf[:0], a)
	h.other, okB = h.AppendBytes(h.other[:0], b)
	if !okA || !okB {
		return dst
	}
	return h.DiffBytes(dst, h.buf, h.other)
}

// DiffBytes is [Hasher.Diff] of two states of which there are only the bytes, as
// [Hasher.AppendBytes] makes them. It keeps neither, and any bytes may be given: a
// length that no state has is a difference named "(size)", after those of the fields
// that both have.
func (h *Hasher[S]) DiffBytes(dst []Difference, a, b []byte) []Difference {
	if h.layout == nil {
		return diffOwn(dst, a, b)
	}
	size, found := h.layout.Size(), 0
	for at := 0; at < min(len(a), len(b), size) && found < MaxDifferences; {
		if a[at] == b[at] {
			at++
			continue
		}
		f, err := h.layout.At(at)
		if err != nil || f.Offset+f.Size > min(len(a), len(b)) {
			break // the field is cut off, which the size says
		}
		textA, textB := a[f.Offset:][:f.Size], b[f.Offset:][:f.Size]
		d := Difference{Path: f.Path, A: f.Format(textA), B: f.Format(textB)}
		if d.A == d.B { // not canonical, as a bool of 2 is
			d.A, d.B = fmt.Sprintf("%s (% x)", d.A, textA), fmt.Sprintf("%s (% x)", d.B, textB)
		}
		if d.Path == "" {
			d.Path = "(state)"
		}
		dst = append(dst, d)
		found++
		at = f.Offset + f.Size
	}
	if (len(a) != size || len(b) != size) && found < MaxDifferences {
		dst = append(dst, Difference{Path: "(size)", A: bytesOf(len(a)), B: bytesOf(len(b))})
	}
	return dst
}

func bytesOf(n int) string { return strconv.Itoa(n) + " bytes" }

// diffOwn names the first byte that differs.
func diffOwn(dst []Difference, a, b []byte) []Difference {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return dst
	}
	return append(dst, Difference{Path: "byte " + strconv.Itoa(at), A: byteAt(a, at), B: byteAt(b, at)})
}

func byteAt(b []byte, at int) string {
	if at >= len(b) {
		return "nothing: it ends after " + strconv.Itoa(len(b)) + " bytes"
	}
	return "0x" + hex.EncodeToString(b[at:at+1])
}
