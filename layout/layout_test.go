package layout_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/layout"
)

// Fighter and Arena have what trips a careless encoder: padding, blank fields,
// unexported fields, an int, floats, a generator, arrays of arrays.
type Fighter struct {
	Alive  bool
	X, Y   int32
	Health int16
	speed  float32
	_      uint64
	Combo  [3]uint8
}

type Arena struct {
	tick     int
	Fighters [2]Fighter
	Wind     float64
	grid     [2][3]struct {
		Tile  uint8
		Owner uint16
	}
	random rand.PCG
	Spin   complex64
	Round  uint
}

func of[T any](t testing.TB) *layout.Layout[T] {
	t.Helper()
	l, err := layout.Of[T]()
	require.NoError(t, err)
	return l
}

// fill fills v's memory, padding and blank fields included.
func fill[T any](v *T, with byte) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
	for i := range b {
		b[i] = with
	}
}

func TestFieldsAreListedInDeclaredOrderWithArraysAsRanges(t *testing.T) {
	l := of[Arena](t)
	require.Equal(t, []layout.Field{
		{Path: "tick", Kind: reflect.Int, Offset: 0, Size: 8, Count: 1},
		{Path: "Fighters[0:2].Alive", Kind: reflect.Bool, Offset: 8, Size: 1, Count: 2},
		{Path: "Fighters[0:2].X", Kind: reflect.Int32, Offset: 9, Size: 4, Count: 2},
		{Path: "Fighters[0:2].Y", Kind: reflect.Int32, Offset: 13, Size: 4, Count: 2},
		{Path: "Fighters[0:2].Health", Kind: reflect.Int16, Offset: 17, Size: 2, Count: 2},
		{Path: "Fighters[0:2].speed", Kind: reflect.Float32, Offset: 19, Size: 4, Count: 2},
		{Path: "Fighters[0:2].Combo[0:3]", Kind: reflect.Uint8, Offset: 23, Size: 1, Count: 6},
		{Path: "Wind", Kind: reflect.Float64, Offset: 44, Size: 8, Count: 1},
		{Path: "grid[0:2][0:3].Tile", Kind: reflect.Uint8, Offset: 52, Size: 1, Count: 6},
		{Path: "grid[0:2][0:3].Owner", Kind: reflect.Uint16, Offset: 53, Size: 2, Count: 6},
		{Path: "random.hi", Kind: reflect.Uint64, Offset: 70, Size: 8, Count: 1},
		{Path: "random.lo", Kind: reflect.Uint64, Offset: 78, Size: 8, Count: 1},
		{Path: "Spin", Kind: reflect.Complex64, Offset: 86, Size: 8, Count: 1},
		{Path: "Round", Kind: reflect.Uint, Offset: 94, Size: 8, Count: 1},
	}, l.Fields())
	require.Equal(t, 102, l.Size())
}

func TestAByteLeadsToTheElementItBelongsTo(t *testing.T) {
	l := of[Arena](t)
	for name, c := range map[string]struct {
		offset int
		want   layout.Field
	}{
		"the first byte":           {0, layout.Field{Path: "tick", Kind: reflect.Int, Offset: 0, Size: 8, Count: 1}},
		"the middle of a field":    {36, layout.Field{Path: "Fighters[1].Health", Kind: reflect.Int16, Offset: 35, Size: 2, Count: 1}},
		"an array within an array": {69, layout.Field{Path: "grid[1][2].Owner", Kind: reflect.Uint16, Offset: 68, Size: 2, Count: 1}},
		"the last byte":            {101, layout.Field{Path: "Round", Kind: reflect.Uint, Offset: 94, Size: 8, Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.At(c.offset)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for _, offset := range []int{-1, 102} {
		_, err := l.At(offset)
		require.EqualError(t, err, fmt.Sprintf("layout: no field at byte %d of Arena, which takes 102 bytes", offset))
	}
}

func TestTheBytesAreTheSameOnEveryArchitecture(t *testing.T) {
	a := Arena{tick: -2, Wind: math.Copysign(0, -1), Spin: complex(1, float32(math.NaN())), Round: 7}
	a.Fighters[1] = Fighter{Alive: true, X: -1, Y: 0x01020304, Health: 30, speed: 0.5, Combo: [3]uint8{7, 8, 9}}
	a.grid[1][2].Tile, a.grid[1][2].Owner = 5, 0x1234
	a.random = *rand.NewPCG(1, 2)
	want := "feffffffffffffff" + strings.Repeat("00", 18) +
		"01ffffffff040302011e000000003f070809" + "0000000000000080" + strings.Repeat("00", 15) + "053412" +
		"01000000000000000200000000000000" + "0000803f0000c07f" + "0700000000000000"
	require.Equal(t, want, fmt.Sprintf("%x", of[Arena](t).Append(nil, &a)))
}

// hashes are of types that other processes and architectures must agree on.
func hashes(t *testing.T) string {
	return fmt.Sprintf("%016x %016x %016x %016x", of[Arena](t).Hash(), of[Fighter](t).Hash(), of[uint16](t).Hash(), of[[4]int](t).Hash())
}

func TestTheLayoutHashIsTheSameOnEveryArchitecture(t *testing.T) {
	require.Equal(t, "107a03d3360bc04e d7c11fe3d341aae0 fcd992118ce4770a 6214ee08008a8c24", hashes(t))
}

func TestTheLayoutHashIsTheSameInAnotherProcess(t *testing.T) {
	const asked = "DRIFTBACK_LAYOUT_HASHES"
	if os.Getenv(asked) != "" {
		fmt.Printf("hashes: %s\n", hashes(t))
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), asked+"=1")
	out, err := again.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this test runs under an emulator, and the system cannot run it without")
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "hashes: "+hashes(t)+"\n")
}

func TestTheLayoutHashTellsTypesApart(t *testing.T) {
	type base struct {
		A int16
		B [2]uint8
	}
	type alike struct { // the name of a type is no part of it
		A int16
		B [2]uint8
		_ int32
	}
	seen := map[uint64]string{of[base](t).Hash(): "the type itself"}
	require.Equal(t, of[base](t).Hash(), of[alike](t).Hash())
	for name, hash := range map[string]uint64{
		"a renamed field": of[struct {
			C int16
			B [2]uint8
		}](t).Hash(),
		"another kind of the same size": of[struct {
			A uint16
			B [2]uint8
		}](t).Hash(),
		"another order": of[struct {
			B [2]uint8
			A int16
		}](t).Hash(),
		"a longer array": of[struct {
			A int16
			B [3]uint8
		}](t).Hash(),
		"a field less": of[struct{ A int16 }](t).Hash(),
		"an array of arrays": of[struct {
			A int16
			B [2][1]uint8
		}](t).Hash(),
	} {
		require.NotContains(t, seen, hash, "%s hashes like %s", name, seen[hash])
		seen[hash] = name
	}
}

func TestGarbageInPaddingAndBlankFieldsNeverShows(t *testing.T) {
	l := of[[3]Fighter](t)
	var clean, dirty [3]Fighter
	fill(&dirty, 0xdb)
	for i := range clean {
		clean[i].Health, clean[i].X = 3, -4
		// Field by field, as a game writes into a reused array; an assignment of the
		// whole element would wipe the padding.
		d := &dirty[i]
		d.Alive, d.X, d.Y, d.Health, d.speed, d.Combo = false, -4, 0, 3, 0, [3]uint8{}
	}
	raw := func(v *[3]Fighter) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }
	require.NotEqual(t, raw(&clean), raw(&dirty), "there is no garbage to look for")
	require.Equal(t, l.Append(nil, &clean), l.Append(nil, &dirty))
	b, _ := l.View(nil, &dirty)
	require.Equal(t, l.Append(nil, &clean), b)
}

func TestEveryNaNIsOneNaNAndMinusZeroStaysApart(t *testing.T) {
	type floats struct {
		F [20]float32
		D [9]float64
		C complex128
	}
	l := of[floats](t)
	nans := func(single uint32, double uint64) *floats {
		v := &floats{C: complex(math.Inf(1), math.Float64frombits(double))}
		for i := range v.F {
			v.F[i] = math.Float32frombits(single)
		}
		v.D[4] = math.Float64frombits(double)
		return v
	}
	want := l.Append(nil, nans(0x7fc00000, 0x7ff8000000000000))
	for name, v := range map[string]*floats{
		"a signalling NaN":      nans(0x7f800001, 0x7ff0000000000001),
		"a negative NaN":        nans(0xffc00000, 0xfff8000000000000),
		"a NaN with a payload":  nans(0x7fc12345, 0x7ff8000012345678),
		"a NaN of all the bits": nans(0xffffffff, 0xffffffffffffffff),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want, l.Append(nil, v))
			b, inPlace := l.View(nil, v)
			require.False(t, inPlace)
			require.Equal(t, want, b)
		})
	}
	zero, minus := &floats{}, &floats{}
	minus.D[2] = math.Copysign(0, -1)
	require.NotEqual(t, l.Append(nil, zero), l.Append(nil, minus))
	infinite := &floats{}
	infinite.F[0] = float32(math.Inf(-1))
	require.Equal(t, []byte{0, 0, 0x80, 0xff}, l.Append(nil, infinite)[:4])
}

func TestAViewIsTheMemoryItselfWhereThatIsCanonical(t *testing.T) {
	type words struct {
		A, B int32
		C    [4]bool
	}
	v := words{A: 1, C: [4]bool{true}}
	b, inPlace := of[words](t).View(nil, &v)
	require.Equal(t, of[words](t).Append(nil, &v), b)
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 1 {
		require.True(t, inPlace)
		require.Equal(t, unsafe.Pointer(&v), unsafe.Pointer(&b[0]))
	} else {
		require.False(t, inPlace)
	}
}

func TestNothingIsAllocatedOnceABufferIsLongEnough(t *testing.T) {
	l := of[Arena](t)
	a := &Arena{Wind: math.NaN()}
	b := l.Append(nil, a)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b = l.Append(b[:0], a)
		b, _ = l.View(b, a)
		if err := l.Parse(b, a); err != nil {
			panic(err)
		}
	}))
}

func TestParseTakesBackWhatAppendGave(t *testing.T) {
	l := of[Arena](t)
	rapid.Check(t, func(t *rapid.T) {
		a := Arena{
			tick: int(rapid.Int32().Draw(t, "tick")), Round: uint(rapid.Uint32().Draw(t, "round")),
			Wind: rapid.Float64().Draw(t, "wind"), random: *rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1),
			Spin: complex(rapid.Float32().Draw(t, "re"), 1),
		}
		for i := range a.Fighters {
			a.Fighters[i] = Fighter{
				Alive: rapid.Bool().Draw(t, "alive"), X: rapid.Int32().Draw(t, "x"), Health: rapid.Int16().Draw(t, "health"),
				speed: rapid.Float32().Draw(t, "speed"), Combo: [3]uint8{rapid.Uint8().Draw(t, "combo")},
			}
		}
		before := bytes.Repeat([]byte{9}, rapid.IntRange(0, 3).Draw(t, "before"))
		b := l.Append(bytes.Clone(before), &a)
		require.Equal(t, before, b[:len(before)])
		b = b[len(before):]
		require.Len(t, b, l.Size())

		back := Arena{Wind: 5}
		require.NoError(t, l.Parse(b, &back))
		require.Equal(t, a, back)
	})
}

func TestParseRefusesWhatAppendNeverGives(t *testing.T) {
	l := of[Arena](t)
	good := l.Append(nil, &Arena{tick: 3})
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"too short":        {good[:101], "101 bytes for Arena, which takes 102"},
		"too long":         {append(bytes.Clone(good), 0), "103 bytes for Arena, which takes 102"},
		"none":             {nil, "0 bytes for Arena, which takes 102"},
		"a bool of 2":      {with(good, 26, 2), "Arena.Fighters[1].Alive is 02, which is no bool here"},
		"a bool of 255":    {with(good, 8, 255), "Arena.Fighters[0].Alive is ff, which is no bool here"},
		"another NaN":      {with(good, 44, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f), "Arena.Wind is 01 00 00 00 00 00 f8 7f, which is no float64 here"},
		"a negative NaN":   {with(good, 19, 0, 0, 0xc0, 0xff), "Arena.Fighters[0].speed is 00 00 c0 ff, which is no float32 here"},
		"an imaginary NaN": {with(good, 90, 1, 0, 0xc0, 0x7f), "Arena.Spin is 00 00 00 00 01 00 c0 7f, which is no complex64 here"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Arena{tick: 77}
			err := l.Parse(c.bytes, &v)
			require.ErrorIs(t, err, layout.ErrMalformed)
			require.EqualError(t, err, "layout: malformed bytes: "+c.want)
			require.Equal(t, Arena{tick: 77}, v)
		})
	}
	t.Run("an int beyond this architecture's range", func(t *testing.T) {
		var v Arena
		err := l.Parse(with(good, 0, 0, 0, 0, 0, 1, 0, 0, 0), &v)
		if unsafe.Sizeof(0) == 8 {
			require.NoError(t, err)
			require.EqualValues(t, int64(1)<<32, v.tick)
		} else {
			require.EqualError(t, err, "layout: malformed bytes: Arena.tick is 00 00 00 00 01 00 00 00, which is no int here")
		}
	})
}

// with returns b with some bytes put over it.
func with(b []byte, at int, over ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], over)
	return b
}

func FuzzParse(f *testing.F) {
	l := of[Arena](f)
	good := l.Append(nil, &Arena{tick: -1, Wind: math.NaN(), Fighters: [2]Fighter{{Alive: true}}})
	f.Add(good)
	f.Add(good[1:])
	f.Add(with(good, 8, 2))
	f.Add(with(good, 44, 1, 2, 3))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var v, untouched Arena
		fill(&v, 1)
		fill(&untouched, 1)
		if err := l.Parse(b, &v); err != nil {
			require.ErrorIs(t, err, layout.ErrMalformed)
			require.Equal(t, untouched, v)
			return
		}
		require.Equal(t, b, l.Append(nil, &v))
	})
}

func TestAFieldsBytesReadAsItsValue(t *testing.T) {
	for name, c := range map[string]struct {
		kind  reflect.Kind
		bytes []byte
		want  string
	}{
		"true":               {reflect.Bool, []byte{1}, "true"},
		"a small int":        {reflect.Int8, []byte{0xff}, "-1"},
		"a small uint":       {reflect.Uint8, []byte{0xff}, "255"},
		"a negative int16":   {reflect.Int16, []byte{0x00, 0x80}, "-32768"},
		"an int":             {reflect.Int, []byte{1, 0, 0, 0, 0, 0, 0, 0x80}, "-9223372036854775807"},
		"the largest uint64": {reflect.Uint64, bytes.Repeat([]byte{0xff}, 8), "18446744073709551615"},
		"minus zero":         {reflect.Float32, []byte{0, 0, 0, 0x80}, "-0"},
		"a short fraction":   {reflect.Float32, []byte{0xcd, 0xcc, 0xcc, 0x3d}, "0.1"},
		"a NaN":              {reflect.Float64, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, "NaN"},
		"a complex number":   {reflect.Complex64, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x80}, "(1, -0)"},
		"too few bytes":      {reflect.Int32, nil, "0 bytes for int32 of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			size := len(c.bytes)
			if c.bytes == nil {
				size = 4
			}
			require.Equal(t, c.want, layout.Field{Kind: c.kind, Size: size}.Format(c.bytes))
		})
	}
}
