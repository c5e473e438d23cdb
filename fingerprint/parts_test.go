package fingerprint_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// A camp is a state with bytes of its own that says what they are.
type (
	tent struct {
		Owner uint8
		Food  int16
	}
	camp struct {
		tick  uint32
		tents []tent
		notes []byte
		fires [][2]byte
	}
)

var tents = must(layout.Of[tent]())

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (c *camp) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, c.tick)
	b = append(b, byte(len(c.tents)), byte(len(c.fires)))
	for i := range c.tents {
		b = tents.Append(b, &c.tents[i])
	}
	for i := range c.fires {
		b = append(b, c.fires[i][:]...)
	}
	return append(b, c.notes...), nil
}

func (c *camp) UnmarshalBinary(b []byte) error {
	const head = 6
	if len(b) < head || len(b) < head+3*int(b[4])+2*int(b[5]) {
		return errors.New("too short for a camp")
	}
	*c = camp{tick: binary.LittleEndian.Uint32(b), tents: make([]tent, b[4]), fires: make([][2]byte, b[5])}
	b = b[head:]
	for i := range c.tents {
		if err := tents.Parse(b[:3], &c.tents[i]); err != nil {
			return err
		}
		b = b[3:]
	}
	for i := range c.fires {
		c.fires[i] = [2]byte(b)
		b = b[2:]
	}
	c.notes = append([]byte(nil), b...)
	return nil
}

func (c *camp) AppendParts(dst []fingerprint.Part) []fingerprint.Part {
	return append(dst,
		fingerprint.Part{Path: "Tick", Size: 4},
		fingerprint.Part{Path: "Counts", Size: 2},
		fingerprint.Part{Path: "Tents", Size: 3 * len(c.tents), List: true, Count: len(c.tents), Of: tents},
		fingerprint.Part{Path: "Fires", Size: 2 * len(c.fires), List: true, Count: len(c.fires)},
		fingerprint.Part{Path: "Notes", Size: len(c.notes)},
	)
}

func newCamp(tents int) *camp {
	c := &camp{tick: 7, notes: []byte("notes"), fires: [][2]byte{{1, 2}, {3, 4}}}
	for i := range tents {
		c.tents = append(c.tents, tent{Owner: uint8(i), Food: int16(10 * i)})
	}
	return c
}

func TestARowOfAStatesOwnBytesIsByTheNamesThatItGives(t *testing.T) {
	h := hasher[camp](t)
	require.Nil(t, h.Subsystems(), "nothing was named yet")
	c := newCamp(2)
	b, err := c.AppendBinary(nil)
	require.NoError(t, err)
	row := h.Row([]fingerprint.Sum{1}, c)
	require.Equal(t, []string{"Tick", "Counts", "Tents", "Fires", "Notes"}, h.Subsystems())
	want := []fingerprint.Sum{1}
	for _, part := range [][]byte{b[:4], b[4:6], b[6:12], b[12:16], b[16:]} {
		want = append(want, fingerprint.Sum(xxh3.Hash(part)))
	}
	require.Equal(t, want, row)
	for i := range uint64(10) {
		require.Equal(t, want[1+i%5], h.SumOne(i, c))
	}
	require.Len(t, h.Row(nil, newCamp(0)), 5, "an empty list is a part too")
	require.NoError(t, h.Err())

	o, state := hasher[own](t), &own{body: []byte("a state")}
	require.Equal(t, []fingerprint.Sum{o.Sum(state)}, o.Row(nil, state), "without names it is one subsystem")
	require.Equal(t, o.Sum(state), o.SumOne(3, state))
}

func TestDifferencesOfAStatesOwnBytesHaveItsNames(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *camp)
		states string // what Diff of the two states says
		bytes  string // what DiffBytes says, if it is something else
	}{
		"a field of an element": {func(c *camp) { c.tents[1].Food = -3 }, "[Tents[1].Food: 10 or -3]", ""},
		"two elements": {
			func(c *camp) { c.tents[0].Owner, c.tents[2].Food = 9, 1 }, "[Tents[0].Owner: 0 or 9 Tents[2].Food: 20 or 1]", "",
		},
		"an element that nobody knows more of": {func(c *camp) { c.fires[1][1] = 9 }, "[Fires[1] byte 1: 0x04 or 0x09]", ""},
		"a part that nobody knows more of":     {func(c *camp) { c.notes[2] = 'T'; c.tick = 8 }, "[Tick byte 0: 0x07 or 0x08 Notes byte 2: 0x74 or 0x54]", ""},
		"one element more": {
			func(c *camp) { c.tents = append(c.tents, tent{}) },
			"[Counts byte 0: 0x03 or 0x04 len(Tents): 3 or 4]", "[Counts byte 0: 0x03 or 0x04 (size): 24 bytes or 27 bytes]",
		},
		"all elements gone, and one that is left differs": {
			func(c *camp) { c.tents, c.fires[0][0] = nil, 5 },
			"[Counts byte 0: 0x03 or 0x00 len(Tents): 3 or 0 Fires[0] byte 0: 0x01 or 0x05]", "[Counts byte 0: 0x03 or 0x00 (size): 24 bytes or 15 bytes]",
		},
		"a part that is longer": {
			func(c *camp) { c.notes = append(c.notes, '!') },
			"[Notes byte 5: nothing: it ends after 5 bytes or 0x21]", "[(size): 24 bytes or 25 bytes]",
		},
		"a part that is shorter": {
			func(c *camp) { c.notes = nil },
			"[Notes byte 0: 0x6e or nothing: it ends after 0 bytes]", "[Notes byte 0: 0x6e or nothing: it ends after 0 bytes (size): 24 bytes or 19 bytes]",
		},
		"nothing": {func(*camp) {}, "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, a, b := hasher[camp](t), newCamp(3), newCamp(3)
			c.change(b)
			require.Equal(t, c.states, fmt.Sprint(h.Diff(nil, a, b)))
			require.NoError(t, h.Err())
			if c.bytes == "" {
				c.bytes = c.states
			}
			bytesA, _ := h.AppendBytes(nil, a)
			bytesB, _ := h.AppendBytes(nil, b)
			require.Equal(t, c.bytes, fmt.Sprint(h.DiffBytes(nil, bytesA, bytesB)))
		})
	}
}

func TestBytesThatAreNoStateAreComparedWithoutNames(t *testing.T) {
	h := hasher[camp](t)
	require.Equal(t, "[byte 1: 0x02 or 0x03]", fmt.Sprint(h.DiffBytes(nil, []byte{1, 2}, []byte{1, 3})))
	require.NoError(t, h.Err(), "what somebody else's bytes are is no fault of the state's")
	good, _ := h.AppendBytes(nil, newCamp(3))
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		for _, d := range append(h.DiffBytes(nil, good, b), h.DiffBytes(nil, b, good)...) {
			require.NotEqual(t, d.A, d.B, d.Path)
		}
		require.Equal(t, string(good) == string(b), len(h.DiffBytes(nil, b, good)) == 0)
		require.Equal(t, string(good) == string(b), len(h.DiffBytes(nil, good, b)) == 0)
	})
}

// liar says of 8 bytes what a test tells it to.
type liar struct {
	parts []fingerprint.Part
	size  int
}

func (l *liar) AppendBinary(b []byte) ([]byte, error) { return append(b, make([]byte, l.size)...), nil }
func (l *liar) AppendParts(dst []fingerprint.Part) []fingerprint.Part {
	return append(dst, l.parts...)
}

type nowhere struct{}

func (nowhere) Size() int                    { return 4 }
func (nowhere) At(int) (layout.Field, error) { return layout.Field{}, errBroken }

func TestNamesThatCannotBeTrueAreAnError(t *testing.T) {
	type parts = []fingerprint.Part
	for name, c := range map[string]struct {
		parts parts
		want  string
	}{
		"too few bytes":       {parts{{Path: "A", Size: 7}}, "its parts have 7 bytes together, and AppendBinary made 8: every byte must be in one of them"},
		"too many bytes":      {parts{{Path: "A", Size: 4}, {Path: "B", Size: 5}}, "part 1, B, has a Size of 5 bytes, and of the 8 that AppendBinary made 4 are left"},
		"fewer than none":     {parts{{Path: "A", Size: -1}}, "part 0, A, has a Size of -1 bytes, and of the 8 that AppendBinary made 8 are left"},
		"no part":             {nil, "it named 0 parts: 1 to 1024 are allowed"},
		"too many parts":      {make(parts, 1025), "it named 1025 parts: 1 to 1024 are allowed"},
		"no name":             {parts{{Size: 8}}, "part 0 has no Path: say what it holds"},
		"one name for two":    {parts{{Path: "A", Size: 4}, {Path: "A", Size: 4}}, "two parts are called A"},
		"uneven elements":     {parts{{Path: "A", Size: 8, List: true, Count: 3}}, "part 0, A, has 8 bytes for 3 elements, which must all have the same size"},
		"elements of nothing": {parts{{Path: "A", Size: 8, List: true}}, "part 0, A, has 8 bytes for 0 elements, which must all have the same size"},
		"a count of no list":  {parts{{Path: "A", Size: 8, Count: 2}}, "part 0, A, has a Count of 2 and is no List"},
		"of something else":   {parts{{Path: "A", Size: 8, Of: tents}}, "part 0, A, has 8 bytes, and what it is of has 3"},
		"elements of something else": {
			parts{{Path: "A", Size: 8, List: true, Count: 2, Of: tents}}, "part 0, A, has 4 bytes, and what it is of has 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, l := hasher[liar](t), &liar{c.parts, 8}
			require.Empty(t, h.Row(nil, l))
			require.EqualError(t, h.Err(), "fingerprint: the state's AppendParts: "+c.want)
			require.Zero(t, h.SumOne(0, l))
			require.NotZero(t, h.Sum(l), "a sum needs no names")
			require.Equal(t, "[byte 8: nothing: it ends after 8 bytes or 0x00]", fmt.Sprint(h.Diff(nil, l, &liar{c.parts, 9})))
		})
	}
}

func TestNamesThatChangeAreAnError(t *testing.T) {
	first := &liar{[]fingerprint.Part{{Path: "A", Size: 8}}, 8}
	for want, later := range map[string]*liar{
		`it called part 0 "B", and "A" before: paths must not depend on what the state holds`:        {[]fingerprint.Part{{Path: "B", Size: 8}}, 8},
		"it named 2 parts, and 1 before: how many there are must not depend on what the state holds": {[]fingerprint.Part{{Path: "A", Size: 8}, {Path: "B"}}, 8},
	} {
		h := hasher[liar](t)
		require.Len(t, h.Row(nil, first), 1)
		require.Empty(t, h.Row(nil, later))
		require.EqualError(t, h.Err(), "fingerprint: the state's AppendParts: "+want)
	}
}

func TestFieldsThatAreNoneAreNamedByTheByte(t *testing.T) {
	h := hasher[fake](t)
	require.Equal(t, "[All[1] byte 2: 0x00 or 0x01]", fmt.Sprint(h.Diff(nil, &fake{0}, &fake{1})))
	require.NoError(t, h.Err())
}

// fake has its bytes named by what is no layout.
type fake []byte

func (f *fake) AppendBinary(b []byte) ([]byte, error) {
	return append(b, 0, 0, 0, 0, 0, 0, (*f)[0], 0), nil
}
func (f *fake) AppendParts(dst []fingerprint.Part) []fingerprint.Part {
	return append(dst, fingerprint.Part{Path: "All", Size: 8, List: true, Count: 2, Of: nowhere{}})
}

type bent struct{ list []byte }

func (b *bent) AppendBinary(to []byte) ([]byte, error) { return append(to, b.list...), nil }
func (b *bent) AppendParts() []fingerprint.Part        { return nil }

type Parts struct{ Left byte }

func (*Parts) AppendParts(dst []fingerprint.Part) []fingerprint.Part { return dst }

type promoted struct {
	Parts
	list []byte
}

func (p *promoted) AppendBinary(to []byte) ([]byte, error) { return append(to, p.list...), nil }

func TestAnAppendPartsThatWouldNotBeCalledIsRefused(t *testing.T) {
	_, err := fingerprint.New[bent]()
	require.EqualError(t, err, "fingerprint: *fingerprint_test.bent has the method AppendParts as func(*fingerprint_test.bent) []fingerprint.Part: "+
		"it must be func (s *fingerprint_test.bent) AppendParts(dst []fingerprint.Part) []fingerprint.Part")
	_, err = fingerprint.New[promoted]()
	require.EqualError(t, err, "fingerprint: the embedded promoted.Parts has an AppendParts method, which stands for that field alone: give it a name")
}
