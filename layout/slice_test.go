package layout

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// slicing makes a value's bytes in slices, and holds each to the bytes that are wanted and
// to the room that it is given.
type slicing struct {
	want  []byte
	slice func(dst []byte, at int) int
	room  []byte
}

// requireAlike makes slices of any sizes: some anywhere, and then all of the bytes from
// the first to the last.
func (s *slicing) requireAlike(t *rapid.T) {
	size := len(s.want)
	for range rapid.IntRange(0, 6).Draw(t, "slices out of order") {
		at := rapid.IntRange(0, size-1).Draw(t, "at")
		s.requireOne(t, at, rapid.IntRange(0, size-at+3).Draw(t, "n"))
	}
	most := rapid.IntRange(1, size).Draw(t, "most")
	seed := rapid.Uint64().Draw(t, "sizes")
	for at := 0; at < size; {
		seed = seed*6364136223846793005 + 1442695040888963407
		at += s.requireOne(t, at, 1+int((seed>>33)%uint64(most)))
	}
}

func (s *slicing) requireOne(t *rapid.T, at, n int) int {
	const guard = 24
	beside := bytes.Repeat([]byte{0x5a}, guard)
	s.room = append(append(s.room[:0], beside...), bytes.Repeat([]byte{0xa5}, n)...)
	s.room = append(s.room, beside...)
	made := s.slice(s.room[guard:guard+n], at)
	end := guard + made
	switch {
	case made != min(n, len(s.want)-at):
		t.Fatalf("%d bytes from %d on are %d", n, at, made)
	case !bytes.Equal(s.want[at:at+made], s.room[guard:end]):
		t.Fatalf("%d bytes from %d on are % x, and % x were to be", made, at, s.room[guard:end], s.want[at:at+made])
	case !bytes.Equal(beside, s.room[:guard]):
		t.Fatalf("%d bytes from %d on: something is written before them", made, at)
	case !bytes.Equal(beside, s.room[guard+n:]):
		t.Fatalf("%d bytes from %d on: something is written after them", made, at)
	}
	return made
}

func TestSlicesOfAnySizesInAnyOrderAreTheBytesOfAnyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 0)
		value, mem := drawValue(t, typ)
		big := rapid.Bool().Draw(t, "big-endian")
		p, err := planOf(typ, big)
		require.NoError(t, err, "%v", typ)
		want := reference([]byte{}, value)
		if big != hostIsBigEndian() {
			swapped(typ, mem)
		}
		if p.size > 0 {
			(&slicing{want: want, slice: p.slicer(mem)}).requireAlike(t)
		}
	})
}

// slicer is Layout.Slice of a plan and a memory.
func (p *plan) slicer(mem []byte) func(dst []byte, at int) int {
	return func(dst []byte, at int) int {
		n := min(len(dst), p.size-at)
		p.slice(dst[:n], mem, at)
		return n
	}
}

// The shapes have what slices can be cut in the middle of: columns of several blocks,
// padding, arrays in arrays, fields of all widths.
type (
	shapeUnit struct {
		On    bool
		X, Y  int32
		Speed float32
		Name  [5]uint8
		Force complex128
		Ready [3]bool
	}
	shapeStrided struct {
		Head  uint8
		Units [300]shapeUnit
		Tail  int16
	}
	shapeNested struct {
		Rows [7]struct {
			Wide  bool
			Cells [41]struct {
				A uint8
				B float64
				C [3]struct {
					D uint16
					E uint8
				}
			}
			Sum complex64
		}
		N int
	}
	shapeFloats struct {
		F [3000]float32
		B bool
		D [700]float64
	}
	shapeDense struct{ A [5000]int16 }
	shapeRuns  struct {
		Runs [3]struct {
			On   bool
			Run  [3000]uint8
			Next int64
		}
	}
	shapeBools [333]bool
)

func TestSlicesOfAnySizesInAnyOrderAreWhatAppendGives(t *testing.T) {
	t.Run("strided", sliceProperty[shapeStrided])
	t.Run("nested", sliceProperty[shapeNested])
	t.Run("floats", sliceProperty[shapeFloats])
	t.Run("dense", sliceProperty[shapeDense])
	t.Run("runs", sliceProperty[shapeRuns])
	t.Run("bools", sliceProperty[shapeBools])
}

func sliceProperty[T any](t *testing.T) {
	l, err := Of[T]()
	require.NoError(t, err)
	typ := reflect.TypeFor[T]()
	rapid.Check(t, func(t *rapid.T) {
		value, _ := drawValue(t, typ)
		v := value.Addr().Interface().(*T)
		want := l.Append(nil, v)
		(&slicing{want: want, slice: func(dst []byte, at int) int { return l.Slice(dst, v, at) }}).requireAlike(t)

		back := new(T)
		require.NoError(t, l.ParseFrom(sectionOf(want), back))
		require.True(t, bytes.Equal(want, l.Append(nil, back)), "what was parsed has other bytes")
	})
}

func sectionOf(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

func TestSlicesOfIntsOfFourBytesTakeEight(t *testing.T) {
	tree := node{kind: reflect.Struct, wide: 12, size: 17, kids: []node{
		{name: "A", kind: reflect.Int, wide: 4, size: 8},
		{name: "B", kind: reflect.Uint, mem: 4, at: 8, wide: 4, size: 8},
		{name: "C", kind: reflect.Bool, mem: 8, at: 16, wide: 1, size: 1},
	}}
	ints := node{name: "D", kind: reflect.Array, mem: 1200, at: 1700, wide: 80, size: 160, count: 20,
		kids: []node{{kind: reflect.Int, wide: 4, size: 8}}}
	elems := node{name: "E", kind: reflect.Array, wide: 1200, size: 1700, count: 100, kids: []node{tree}}
	for name, big := range map[string]bool{"little-endian": false, "big-endian": true} {
		t.Run(name, func(t *testing.T) {
			p := compile(node{kind: reflect.Struct, wide: 1280, size: 1860, kids: []node{elems, ints}}, big)
			rapid.Check(t, func(t *rapid.T) {
				_, mem := drawValue(t, reflect.TypeFor[[1280]uint8]())
				want := make([]byte, p.size)
				p.encode(want, mem)
				(&slicing{want: want, slice: p.slicer(mem)}).requireAlike(t)
			})
		})
	}
}

func TestASliceOutsideOfTheBytesIsNone(t *testing.T) {
	l, err := Of[shapeUnit]()
	require.NoError(t, err)
	for _, at := range []int{-1, l.Size(), l.Size() + 1, math.MaxInt, math.MinInt} {
		dst := []byte{7, 7}
		require.Zero(t, l.Slice(dst, &shapeUnit{}, at))
		require.Equal(t, []byte{7, 7}, dst)
	}
	require.Zero(t, l.Slice(nil, &shapeUnit{}, 3))
	empty, err := Of[struct{}]()
	require.NoError(t, err)
	require.Zero(t, empty.Slice(make([]byte, 4), &struct{}{}, 0))
}

func TestNoSliceAllocates(t *testing.T) {
	t.Run("strided", sliceAllocates[shapeStrided])
	t.Run("nested", sliceAllocates[shapeNested])
	t.Run("floats", sliceAllocates[shapeFloats])
	t.Run("dense", sliceAllocates[shapeDense])
	t.Run("other byte order", func(t *testing.T) {
		p, err := planOf(reflect.TypeFor[shapeStrided](), !hostIsBigEndian())
		require.NoError(t, err)
		mem, dst := memory(new(shapeStrided)), make([]byte, 101)
		at := 0
		require.Zero(t, testing.AllocsPerRun(100, func() {
			p.slice(dst, mem, at)
			at = (at + 101) % (p.size - 101)
		}))
	})
}

func sliceAllocates[T any](t *testing.T) {
	l, err := Of[T]()
	require.NoError(t, err)
	v, dst, at := new(T), make([]byte, 101), 0
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if at += l.Slice(dst, v, at); at == l.Size() {
			at = 0
		}
	}))
}

func TestParseFromRefusesWhatParseRefusesAndSetsNothing(t *testing.T) {
	const units = 4000
	type world struct {
		Head  uint8
		Units [units]shapeUnit
	}
	l, err := Of[world]()
	require.NoError(t, err)
	unit := (l.Size() - 1) / units
	first := portion / unit // the unit that is cut by the end of the first portion
	good := l.Append(nil, &world{Head: 1})
	for name, c := range map[string]struct {
		unit, at int
		over     []byte
	}{
		"a bool in the first portion":        {0, 0, []byte{2}},
		"a bool in the last":                 {units - 1, unit - 1, []byte{2}},
		"a bool before the end of a portion": {first, 0, []byte{255}},
		"a bool after it":                    {first, unit - 1, []byte{3}},
		"a NaN in the first portion":         {first - 1, 9, []byte{1, 0, 0xc0, 0x7f}},
		"a NaN in the second":                {first + 1, 9, []byte{1, 0, 0xc0, 0x7f}},
		"a NaN in an imaginary part":         {units / 2, 18 + 8, []byte{1, 0, 0, 0, 0, 0, 0xf8, 0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(good)
			copy(b[1+c.unit*unit+c.at:], c.over)
			v, untouched, other := new(world), new(world), new(world)
			v.Head, untouched.Head = 9, 9
			want := l.Parse(b, other)
			require.ErrorIs(t, want, ErrMalformed)
			err := l.ParseFrom(sectionOf(b), v)
			require.ErrorIs(t, err, ErrMalformed)
			require.EqualError(t, err, want.Error())
			require.True(t, *untouched == *v, "it is changed")
		})
	}
	v := new(world)
	require.NoError(t, l.ParseFrom(sectionOf(good), v))
	require.EqualValues(t, 1, v.Head)
	require.EqualError(t, l.ParseFrom(sectionOf(good[1:]), v), l.Parse(good[1:], v).Error())
	broken := errors.New("broken")
	r := io.NewSectionReader(failing{bytes.NewReader(good), broken}, 0, int64(len(good)))
	require.ErrorIs(t, l.ParseFrom(r, v), broken)
}

func TestParseFromCutsNoFieldWhereAPortionEnds(t *testing.T) {
	type world struct {
		Head  bool
		Force [3 * portion / 8]float64
	}
	l, err := Of[world]()
	require.NoError(t, err)
	v, back := new(world), new(world)
	for i := range v.Force {
		v.Force[i] = math.NaN()
	}
	b := l.Append(nil, v)
	require.NoError(t, l.ParseFrom(sectionOf(b), back))
	require.True(t, bytes.Equal(b, l.Append(nil, back)))
}

// failing reads nothing beyond the first portion.
type failing struct {
	io.ReaderAt
	err error
}

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at > 0 {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, at)
}
