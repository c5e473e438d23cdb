package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reference encodes a value the slow way, asking reflect for every field, and
// shares nothing with the plan.
func reference(b []byte, v reflect.Value) []byte {
	le := binary.LittleEndian
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int8:
		return append(b, byte(v.Int()))
	case reflect.Int16:
		return le.AppendUint16(b, uint16(v.Int()))
	case reflect.Int32:
		return le.AppendUint32(b, uint32(v.Int()))
	case reflect.Int64, reflect.Int:
		return le.AppendUint64(b, uint64(v.Int()))
	case reflect.Uint8:
		return append(b, byte(v.Uint()))
	case reflect.Uint16:
		return le.AppendUint16(b, uint16(v.Uint()))
	case reflect.Uint32:
		return le.AppendUint32(b, uint32(v.Uint()))
	case reflect.Uint64, reflect.Uint:
		return le.AppendUint64(b, v.Uint())
	case reflect.Float32:
		return referenceFloat(b, v.Float(), 4)
	case reflect.Float64:
		return referenceFloat(b, v.Float(), 8)
	case reflect.Complex64:
		return referenceFloat(referenceFloat(b, real(v.Complex()), 4), imag(v.Complex()), 4)
	case reflect.Complex128:
		return referenceFloat(referenceFloat(b, real(v.Complex()), 8), imag(v.Complex()), 8)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				b = reference(b, v.Field(i))
			}
		}
		return b
	case reflect.Array:
		for i := range v.Len() {
			b = reference(b, v.Index(i))
		}
		return b
	}
	panic("no bytes for " + v.Kind().String())
}

func referenceFloat(b []byte, f float64, size int) []byte {
	le := binary.LittleEndian
	switch {
	case f != f && size == 4:
		return append(b, 0, 0, 0xc0, 0x7f)
	case f != f:
		return append(b, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)
	case size == 4:
		return le.AppendUint32(b, math.Float32bits(float32(f)))
	}
	return le.AppendUint64(b, math.Float64bits(f))
}

var basics = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[uint](),
	reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](),
}

// drawType draws a type that has a layout: structs, arrays, zero sizes and blank
// fields, those of refused kinds included, in any order.
func drawType(t *rapid.T, depth int) reflect.Type {
	shape := rapid.IntRange(0, 9).Draw(t, "shape")
	switch {
	case depth < 3 && shape < 4:
		n := rapid.IntRange(0, 5).Draw(t, "fields")
		fields := make([]reflect.StructField, n)
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: drawType(t, depth+1)}
			if rapid.IntRange(0, 7).Draw(t, "blank") == 0 {
				fields[i].Name, fields[i].PkgPath = "_", "layout"
			}
		}
		return reflect.StructOf(fields)
	case depth < 3 && shape < 7:
		return reflect.ArrayOf(rapid.IntRange(0, 5).Draw(t, "len"), drawType(t, depth+1))
	}
	return rapid.SampledFrom(basics).Draw(t, "basic")
}

// drawValue returns a value of the type whose every byte was drawn, padding
// included, and the memory it lies in. Only bools are made to be bools.
func drawValue(t *rapid.T, typ reflect.Type) (reflect.Value, []byte) {
	mem := reflect.New(typ)
	b := unsafeBytes(mem, int(typ.Size()))
	seed := rapid.Uint64().Draw(t, "seed")
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = byte(seed >> 56)
		if seed>>50&7 == 0 {
			b[i] = 0xff // so that NaNs and extremes are common
		}
	}
	tidyBools(typ, b)
	return mem.Elem(), b
}

func tidyBools(t reflect.Type, b []byte) {
	switch t.Kind() {
	case reflect.Bool:
		b[0] &= 1
	case reflect.Array:
		for i := range t.Len() {
			tidyBools(t.Elem(), b[i*int(t.Elem().Size()):])
		}
	case reflect.Struct:
		for i := range t.NumField() {
			tidyBools(t.Field(i).Type, b[t.Field(i).Offset:])
		}
	}
}

// swapped returns the memory as a machine of the other byte order would hold it.
func swapped(t reflect.Type, b []byte) {
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		half := len(b) / 2
		slices.Reverse(b[:half])
		slices.Reverse(b[half:])
	case reflect.Array:
		size := int(t.Elem().Size())
		for i := range t.Len() {
			swapped(t.Elem(), b[i*size:][:size])
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			swapped(f.Type, b[f.Offset:][:f.Type.Size()])
		}
	default:
		slices.Reverse(b)
	}
}

func TestAnyTypeHasTheBytesOfAFieldByFieldEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 0)
		p, err := planOf(typ, hostIsBigEndian())
		require.NoError(t, err, "%v", typ)
		value, mem := drawValue(t, typ)

		want := reference([]byte{}, value)
		require.Equal(t, len(want), p.size, "%v", typ)
		got := bytes.Repeat([]byte{0xa5}, p.size)
		p.encode(got, mem)
		require.Equal(t, want, got, "%v", typ)
		if in, ok := p.inPlace(mem); ok {
			require.True(t, bytes.Equal(want, in), "%v in place", typ)
		}
		require.Negative(t, p.fault(got), "%v", typ)

		// Decoding fills every field and touches nothing else.
		back := reflect.New(typ)
		backMem := unsafeBytes(back, len(mem))
		for i := range backMem {
			backMem[i] = 0x5a
		}
		tidyBools(typ, backMem)
		p.decode(got, backMem)
		require.Equal(t, want, reference([]byte{}, back.Elem()), "%v", typ)
		clear(backMem)
		p.decode(bytes.Repeat([]byte{0xff}, p.size), backMem)
		touched := 0
		for _, v := range backMem {
			if v == 0xff {
				touched++
			}
		}
		require.Equal(t, memoryOfFields(&p.root), touched, "%v: decoding wrote outside its fields", typ)
	})
}

// memoryOfFields adds up the memory of the basic fields, without padding.
func memoryOfFields(n *node) int {
	switch n.kind {
	case reflect.Struct:
		sum := 0
		for i := range n.kids {
			sum += memoryOfFields(&n.kids[i])
		}
		return sum
	case reflect.Array:
		if n.size == 0 {
			return 0
		}
		return n.count * memoryOfFields(&n.kids[0])
	}
	return n.wide
}

func TestAMachineOfTheOtherByteOrderHasTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 0)
		here, err := planOf(typ, hostIsBigEndian())
		require.NoError(t, err)
		there, err := planOf(typ, !hostIsBigEndian())
		require.NoError(t, err)
		_, mem := drawValue(t, typ)
		want := make([]byte, here.size)
		here.encode(want, mem)
		require.Equal(t, here.hash, there.hash)

		theirs := slices.Clone(mem)
		swapped(typ, theirs)
		got := make([]byte, there.size)
		there.encode(got, theirs)
		require.Equal(t, want, got, "%v", typ)

		back := make([]byte, len(mem))
		there.decode(got, back)
		swapped(typ, back)
		again := make([]byte, here.size)
		here.encode(again, back)
		require.Equal(t, want, again, "%v", typ)
	})
}

func TestAnIntOfFourBytesTakesEightInEitherByteOrder(t *testing.T) {
	// The tree of struct{ A int; B uint } on a machine with words of 4 bytes.
	tree := node{kind: reflect.Struct, wide: 8, size: 16, kids: []node{
		{name: "A", kind: reflect.Int, wide: 4, size: 8},
		{name: "B", kind: reflect.Uint, mem: 4, at: 8, wide: 4, size: 8},
	}}
	want := []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd, 0xff, 0xff, 0xff, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		big bool
		mem []byte
	}{
		"little-endian": {false, []byte{0xfe, 0xff, 0xff, 0xff, 0xfd, 0xff, 0xff, 0xff}},
		"big-endian":    {true, []byte{0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd}},
	} {
		t.Run(name, func(t *testing.T) {
			array := node{kind: reflect.Array, count: 3, wide: 24, size: 48, kids: []node{tree}}
			p := compile(array, c.big)
			got := make([]byte, 48)
			p.encode(got, bytes.Repeat(c.mem, 3))
			require.Equal(t, bytes.Repeat(want, 3), got)
			back := make([]byte, 24)
			p.decode(got, back)
			require.Equal(t, bytes.Repeat(c.mem, 3), back)
		})
	}
}

func TestAnIntBeyondFourBytesIsFoundWhereWordsAreFour(t *testing.T) {
	for name, c := range map[string]struct {
		code code
		v    uint64
		bad  bool
	}{
		"the largest int":     {anInt32, math.MaxInt32, false},
		"one above it":        {anInt32, math.MaxInt32 + 1, true},
		"the smallest int":    {anInt32, 0xffffffff80000000, false},
		"one below it":        {anInt32, 0xffffffff7fffffff, true},
		"the largest uint":    {anUint32, math.MaxUint32, false},
		"one above that":      {anUint32, math.MaxUint32 + 1, true},
		"a uint with a sign":  {anUint32, math.MaxUint64, true},
		"an int of all zeros": {anInt32, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := binary.LittleEndian.AppendUint64(make([]byte, 8), c.v)
			at := run([]op{{code: c.code, n: 16}}, check, b, b, 0, 0)
			if c.bad {
				require.Equal(t, 8, at)
			} else {
				require.Equal(t, -1, at)
			}
		})
	}
}

func TestEveryByteLeadsBackToItsField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := planOf(drawType(t, 0), hostIsBigEndian())
		require.NoError(t, err)
		total := 0
		for _, f := range p.fields() {
			total += f.Size * f.Count
		}
		require.Equal(t, p.size, total, "the fields do not cover the bytes")
		next := 0
		for next < p.size {
			f := p.at(next)
			require.Equal(t, next, f.Offset, "%+v does not begin where the last ended", f)
			for at := f.Offset; at < f.Offset+f.Size; at++ {
				require.Equal(t, f, p.at(at))
			}
			next += f.Size
		}
		require.Equal(t, p.size, next)
	})
}

// A tree of pairs has twice the fields on every floor: 65,536 of them here. The
// type is not comparable, because the compiler writes the comparison out in full
// on some architectures and takes minutes over it.
type (
	pair[T any] struct {
		_    [0]func()
		A, B T
	}
	pair16[T any] struct{ In pair[pair[pair[pair[T]]]] }
	pairs[T any]  struct {
		In pair16[pair16[pair16[pair16[T]]]]
	}
)

// nest puts a type into n structs or arrays, one inside another.
func nest(inner reflect.Type, n int, around func(reflect.Type) reflect.Type) reflect.Type {
	for range n {
		inner = around(inner)
	}
	return inner
}

func TestNoTypeKeepsTheWalkBusy(t *testing.T) {
	one := func(t reflect.Type) reflect.Type { return reflect.ArrayOf(1, t) }
	blank := reflect.StructOf([]reflect.StructField{{Name: "_", PkgPath: "layout", Type: reflect.TypeFor[byte]()}})
	type wide struct{ A, B, C, D int32 }
	for name, c := range map[string]struct {
		typ  reflect.Type
		want string // empty: it has a layout
	}{
		"as deep as may be":          {nest(reflect.TypeFor[byte](), MaxDepth, one), ""},
		"one deeper":                 {nest(reflect.TypeFor[byte](), MaxDepth+1, one), "is nested deeper than 64 structs and arrays; flatten it"},
		"pairs of pairs":             {reflect.TypeFor[pairs[byte]](), "is beyond the 16384 fields that a type may have; use arrays"},
		"pairs of pairs of nothing":  {reflect.TypeFor[pairs[struct{ _ byte }]](), "is beyond the 16384 fields that a type may have; use arrays"},
		"pairs of pairs of no bytes": {reflect.TypeFor[pairs[struct{}]](), ""},
		"a huge array":               {reflect.ArrayOf(MaxSize, reflect.TypeFor[byte]()), ""},
		"a larger one":               {reflect.ArrayOf(MaxSize+1, reflect.TypeFor[byte]()), "is larger than 67108864 bytes; use a shorter array"},
		"a huge array of structs":    {reflect.ArrayOf(MaxSize/16, reflect.TypeFor[wide]()), ""},
		"two halves and a byte": {reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.ArrayOf(MaxSize, reflect.TypeFor[byte]())}, {Name: "B", Type: reflect.TypeFor[byte]()},
		}), "is larger than 67108864 bytes"},
		"a huge array of nothing": {reflect.ArrayOf(math.MaxInt32, blank), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var p *plan
			var err error
			allocs := testing.AllocsPerRun(1, func() { p, err = planOf(c.typ, hostIsBigEndian()) })
			require.Less(t, allocs, 4.0*MaxFields)
			if c.want == "" {
				require.Less(t, allocs, 8.0*MaxDepth)
				require.NoError(t, err)
				require.LessOrEqual(t, len(p.fields()), 4)
				require.LessOrEqual(t, len(p.moves), 1)
				return
			}
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, c.want)
		})
	}
}
