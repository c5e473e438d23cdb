package layout

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type (
	partsFighter struct {
		On     bool
		Health int16
		X      float32
	}
	partsLevel struct {
		Wind  float32
		Rain  uint8
		Tiles [1000]uint32
		Last  [3]uint8
	}
	partsState struct {
		Tick     int32
		Paused   bool
		Fighters [2]partsFighter
		Level    partsLevel
		Score    [2]uint64
	}
)

func namesOf[T any](t *testing.T, least, most int) string {
	t.Helper()
	l, err := Of[T]()
	require.NoError(t, err)
	var names []string
	for _, p := range l.Parts(least, most) {
		names = append(names, fmt.Sprintf("%s %d+%d", p.Path, p.Offset, p.Size))
	}
	return strings.Join(names, ", ")
}

func TestPartsAreNamedByWhatTheyHold(t *testing.T) {
	type one struct{ World partsState }
	const top = "Tick 0+4, Paused 4+1, Fighters 5+14, Level 19+4008, Score 4027+16"
	require.Equal(t, top, namesOf[partsState](t, 0, 1<<20), "every field at the top")
	require.Equal(t, strings.NewReplacer("Tick", "World.Tick", "Paused", "World.Paused", "Fighters", "World.Fighters", "Level", "World.Level", "Score", "World.Score").Replace(top),
		namesOf[one](t, 0, 1<<20), "the one field at the top is opened")
	require.Equal(t, "[0].Tick 0+4, [0].Paused 4+1, [0].Fighters 5+14, [0].Level 19+4008, [0].Score 4027+16",
		namesOf[[1]partsState](t, 0, 1<<20), "and so is the one element")
	require.Equal(t, "Tick to Fighters 0+19, Level 19+4008, Score 4027+16", namesOf[partsState](t, 16, 1<<20), "small neighbours go together, until they have enough")
	require.Equal(t, "Tick to Score 0+4043", namesOf[partsState](t, 1<<20, 1<<20))
	require.Equal(t, "Tick 0+4, Paused 4+1, Fighters 5+14, Level.Wind 19+4, Level.Rain 23+1, "+
		"Level.Tiles[0:334] 24+1336, Level.Tiles[334:668] 1360+1336, Level.Tiles[668:1000] 2696+1328, Level.Last 4024+3, Score 4027+16",
		namesOf[partsState](t, 0, 1500), "what is large is cut, an array between its elements")
	require.Equal(t, "[0:2] 0+14, [2] 14+7", namesOf[[3]partsFighter](t, 0, 14))
	require.Equal(t, "[0].On 0+1, [0].Health 1+2, [0].X 3+4, [1].On 7+1, [1].Health 8+2, [1].X 10+4", namesOf[[2]partsFighter](t, 0, 1), "down to the fields, and no further")
	require.Equal(t, " 0+8", namesOf[int](t, 0, 1))
	require.Equal(t, " 0+12", namesOf[[3]int32](t, 0, 100))
	require.Empty(t, namesOf[struct{}](t, 0, 1))
	require.Equal(t, " 0+4", namesOf[uint32](t, 0, -1), "a nonsensical bound")
}

func TestPartsOfAnyTypeAreItsBytesAndCutNoField(t *testing.T) {
	inPlace, built := 0, 0
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
		least, most := rapid.IntRange(0, 40).Draw(t, "least"), rapid.IntRange(1, 60).Draw(t, "most")
		before, room := math.MaxInt, []byte(nil)
		at := 0
		for _, c := range together(p.cut(most), least) {
			require.Equal(t, at, c.at, "%v", typ)
			require.Positive(t, c.size)
			require.Equal(t, at, p.boundary(at), "%v: a part begins within a field", typ)
			require.False(t, before < least && c.size < least, "%v: two small neighbours are apart", typ)
			b, ok := p.view(room, mem, c.at, c.size, p.lies(c.at, c.size))
			require.Equal(t, want[c.at:][:c.size], b, "%v", typ)
			if ok {
				inPlace++
			} else {
				room = b
				built++
			}
			at, before = at+c.size, c.size
		}
		require.Equal(t, p.size, at, "%v: the parts are not all bytes", typ)
	})
	require.Positive(t, inPlace, "no part was ever viewed in place")
	require.Positive(t, built, "no part was ever built")
}

func TestAPartIsViewedInPlaceThoughTheStateCannotBe(t *testing.T) {
	l, err := Of[partsState]()
	require.NoError(t, err)
	s := &partsState{Tick: 7}
	_, inPlace := l.View(nil, s)
	require.False(t, inPlace, "a struct with padding")
	parts := l.Parts(0, 1<<20)
	level := &parts[3]
	require.Equal(t, "Level", level.Path)
	_, inPlace = level.View(nil, s)
	require.False(t, inPlace, "Level has padding too")

	score := &parts[4]
	b, inPlace := score.View(nil, s)
	require.True(t, inPlace)
	s.Score[1] = 0xaabb
	require.Equal(t, []byte{0xbb, 0xaa}, b[8:10], "it was a copy")

	var room [4]byte
	type numbers struct {
		A uint8
		F [1]float32
	}
	n, err := Of[numbers]()
	require.NoError(t, err)
	f := &n.Parts(0, 100)[1]
	v := &numbers{F: [1]float32{1.5}}
	_, inPlace = f.View(room[:], v)
	require.True(t, inPlace)
	v.F[0] = math.Float32frombits(0xff800001)
	b, inPlace = f.View(room[:], v)
	require.False(t, inPlace, "its NaN is not the canonical one")
	require.Equal(t, []byte{0, 0, 0xc0, 0x7f}, b)
	require.Equal(t, uint32(0xff800001), math.Float32bits(v.F[0]), "the value was written to")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		f.View(room[:], v)
		score.View(nil, s)
	}))
}

func TestThePartThatNobodyMadeHasNoBytes(t *testing.T) {
	b, inPlace := new(Part[int]).View([]byte{1}, new(int))
	require.Empty(t, b)
	require.False(t, inPlace)
}
