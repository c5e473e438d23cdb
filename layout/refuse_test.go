package layout_test

import (
	"encoding"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/layout"
)

// World holds, two floors down, a field of whatever is to be refused.
type World[F any] struct {
	Tick  int
	Units [4]struct{ inner Holder[F] }
}

type Holder[F any] struct{ Field F }

func refusal[T any]() error {
	_, err := layout.Of[T]()
	return err
}

func inputRefusal[T comparable]() error {
	_, err := layout.OfInput[T]()
	return err
}

func TestEveryRefusedKindNamesItsFieldAndWhatToUse(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"string":         {refusal[World[string]](), "a string, which keeps its bytes outside the value; use a fixed array of bytes such as [16]byte"},
		"pointer":        {refusal[World[*int]](), "a pointer, which means nothing in another process; hold the value itself, or an index into an array"},
		"slice":          {refusal[World[[]byte]](), "a slice, which keeps its elements outside the value; use a fixed array and a count"},
		"map":            {refusal[World[map[int]int]](), "a map, which has no order; use a fixed array in the order of the keys"},
		"interface":      {refusal[World[any]](), "an interface, whose type is only known at run time; use a number for the kind and a field for each"},
		"channel":        {refusal[World[chan int]](), "a channel, which means nothing in another process; keep it outside"},
		"function":       {refusal[World[func()]](), "a function, which means nothing in another process; use a number that stands for it"},
		"uintptr":        {refusal[World[uintptr]](), "a uintptr, which is an address of one process; use uint64"},
		"unsafe pointer": {refusal[World[unsafe.Pointer]](), "an unsafe.Pointer, which means nothing in another process; use an index into an array"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.err, "].Units[0:4].inner.Field is "+c.want)
			var refused *layout.RefusedError
			require.ErrorAs(t, c.err, &refused)
			require.Equal(t, "layout: "+refused.Sentence(), c.err.Error())
		})
	}
	type Player struct{ Name string }
	require.EqualError(t, refusal[Player](), "layout: Player.Name is a string, which keeps its bytes outside the value; use a fixed array of bytes such as [16]byte")
	require.ErrorContains(t, refusal[string](), "layout: string is a string, which")
	require.ErrorContains(t, refusal[struct{ P *int }](), "layout: struct.P is a pointer, which")
	require.ErrorContains(t, refusal[[2][]int](), "layout: array[0:2] is a slice, which")
}

func TestWhatHoldsNothingIsNotRefused(t *testing.T) {
	type state struct {
		_    *int
		_    [0]func()
		None [0]string
		A    struct{ _ string }
		X    uint8
		Unit struct{}
	}
	l := of[state](t)
	require.Equal(t, []layout.Field{{Path: "X", Kind: 8, Size: 1, Count: 1}}, l.Fields())
	for name, size := range map[string]int{
		"an empty struct":           of[struct{}](t).Size(),
		"an array of none":          of[[0]int](t).Size(),
		"many empty structs":        of[[1 << 30]struct{}](t).Size(),
		"an array of blank structs": of[[1 << 20]struct{ _ uint8 }](t).Size(),
	} {
		require.Zero(t, size, name)
	}
	var none struct{}
	require.Empty(t, of[struct{}](t).Append(nil, &none))
	require.NoError(t, of[struct{}](t).Parse(nil, &none))
	require.Error(t, of[struct{}](t).Parse([]byte{0}, &none))
}

func TestInputsAreHeldToMoreThanStates(t *testing.T) {
	type buttons struct {
		Buttons uint16
		StickX  int8
		_       [300]uint8
	}
	l, err := layout.OfInput[buttons]()
	require.NoError(t, err)
	require.Equal(t, 3, l.Size())
	_, err = layout.OfInput[[layout.MaxInputSize]uint8]()
	require.NoError(t, err)

	type Pad struct{ Stick struct{ X float32 } }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a float":         {inputRefusal[Pad](), "layout: Pad.Stick.X is a float32, which can be equal to another and have other bytes; quantise it to an integer such as int16"},
		"a plain float":   {inputRefusal[float64](), "layout: float64 is a float64, which can be"},
		"complex numbers": {inputRefusal[[2]complex64](), "layout: array[0:2] is a complex64, which can be"},
		"nothing":         {inputRefusal[struct{}](), "layout: struct is an input without any bytes; give it a field such as uint8"},
		"blanks alone":    {inputRefusal[struct{ _ int }](), "without any bytes"},
		"one byte more":   {inputRefusal[[layout.MaxInputSize + 1]uint8](), "layout: array is an input of 257 bytes, more than 256; send what the player pressed"},
		"a string":        {inputRefusal[struct{ S string }](), "layout: struct.S is a string"},
	} {
		t.Run(name, func(t *testing.T) {
			var refused *layout.RefusedError
			require.ErrorAs(t, c.err, &refused)
			require.ErrorContains(t, c.err, c.want)
		})
	}
}

func TestPointerFreeNamesTheFieldThatACopyWouldShare(t *testing.T) {
	type named struct {
		Name string
		Addr uintptr
		At   rand.PCG
		_    *int
		None [0]*int
	}
	path, ok := layout.PointerFree[named]()
	require.True(t, ok, path)
	require.Empty(t, path)

	for want, got := range map[string]func() (string, bool){
		"Holder[[]int].Field":          layout.PointerFree[Holder[[]int]],
		"Holder[*int].Field":           layout.PointerFree[Holder[*int]],
		"Holder[map[int]int].Field":    layout.PointerFree[Holder[map[int]int]],
		"Holder[interface {}].Field":   layout.PointerFree[Holder[any]],
		"Holder[chan int].Field":       layout.PointerFree[Holder[chan int]],
		"Holder[func()].Field":         layout.PointerFree[Holder[func()]],
		"Holder[unsafe.Pointer].Field": layout.PointerFree[Holder[unsafe.Pointer]],
		"Holder[[3]*int].Field[0]":     layout.PointerFree[Holder[[3]*int]],
		"array[0].Units":               layout.PointerFree[[2]struct{ Units []int }],
		"struct.A.inner":               layout.PointerFree[struct{ A, B struct{ inner *int } }],
		"struct.C.inner": layout.PointerFree[struct {
			A, B named
			C    struct{ inner *int }
		}],
	} {
		path, ok := got()
		require.False(t, ok, want)
		require.Equal(t, want, path)
	}
}

type Timer struct{ left int32 }

func (t *Timer) AppendBinary(b []byte) ([]byte, error) { return append(b, byte(t.left)), nil }

func TestAMethodThatComesFromAnEmbeddedFieldIsFound(t *testing.T) {
	type direct struct {
		Timer
		Units []int
	}
	type pointer struct{ *Timer }
	type named struct{ Clock Timer }
	path, ok := layout.Embedded[direct, encoding.BinaryAppender]()
	require.True(t, ok)
	require.Equal(t, "direct.Timer", path)
	_, ok = layout.Embedded[pointer, encoding.BinaryAppender]()
	require.True(t, ok)
	_, ok = layout.Embedded[named, encoding.BinaryAppender]()
	require.False(t, ok)
	_, ok = layout.Embedded[int, encoding.BinaryAppender]()
	require.False(t, ok)
}
