package fingerprint_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// town is a state with subsystems of every kind: small ones, one with padding, one with
// floats, one that is memory as it lies, and one that is cut.
type town struct {
	Tick   uint32
	Paused bool
	Speed  uint8
	People [5]Fighter
	Winds  [40]float32
	Coins  [100]uint16
	Tiles  [100 << 10]uint8
	Last   uint64
}

var townNames = []string{"Tick to Speed", "People", "Winds", "Coins", "Tiles[0:51200]", "Tiles[51200:102400]", "Last"}

func TestSubsystemsAreTheFieldsAtTheTop(t *testing.T) {
	require.Equal(t, townNames, hasher[town](t).Subsystems())
	require.Equal(t, []string{"(state)"}, hasher[int](t).Subsystems())
	require.Equal(t, []string{"(state)"}, hasher[own](t).Subsystems())
	require.Empty(t, hasher[struct{}](t).Subsystems())
	// However many fields and bytes a state has, there are not too many subsystems.
	require.Len(t, hasher[[4 << 20]uint64](t).Subsystems(), 16)
	type crowd struct{ Small [2000]uint64 }
	type wide struct{ A, B, C, D crowd }
	require.Equal(t, []string{"A", "B", "C", "D"}, hasher[wide](t).Subsystems())
}

// rowByHand is the sum of every subsystem's canonical bytes, cut by hand.
func rowByHand(t require.TestingT, s *town) []fingerprint.Sum {
	l, err := layout.Of[town]()
	require.NoError(t, err)
	b := l.Append(nil, s)
	people, err := layout.Of[[5]Fighter]()
	require.NoError(t, err)
	var row []fingerprint.Sum
	for _, size := range []int{6, people.Size(), 160, 200, 51200, 51200, 8} {
		row = append(row, fingerprint.Sum(xxh3.Hash(b[:size])))
		b = b[size:]
	}
	require.Empty(t, b)
	return row
}

func TestARowIsTheSumOfEachSubsystemsBytes(t *testing.T) {
	h := hasher[town](t)
	s := &town{Tick: 9, Paused: true, Last: 3}
	s.People[2] = busy().Fighters[0]
	s.Winds[7], s.Coins[3], s.Tiles[99999] = 0.5, 70, 8
	want := rowByHand(t, s)
	row := h.Row([]fingerprint.Sum{1}, s)
	require.Equal(t, fingerprint.Sum(1), row[0], "what was there is gone")
	require.Equal(t, want, row[1:])
	for i := range uint64(3 * len(want)) {
		require.Equal(t, want[i%uint64(len(want))], h.SumOne(i, s), "subsystem %d", i)
	}
	require.Equal(t, want[(math.MaxUint64)%7], h.SumOne(math.MaxUint64, s))

	s.Winds[7] = math.Float32frombits(0xffc00123) // its memory is no longer canonical
	require.Equal(t, rowByHand(t, s), h.Row(nil, s))
}

// disturb changes any one thing of a town, and not always to another value.
func disturb(t *rapid.T, s *town) {
	v := rapid.Uint8Range(0, 2).Draw(t, "value")
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		s.Tick = uint32(v)
	case 1:
		s.Paused = v == 1
	case 2:
		s.People[rapid.IntRange(0, 4).Draw(t, "who")].Health = int16(v)
	case 3:
		s.Winds[rapid.IntRange(0, 39).Draw(t, "where")] = float32(v)
	case 4: // a NaN of any payload is the same NaN
		s.Winds[5] = math.Float32frombits(0x7fc00000 + uint32(v))
	case 5:
		s.Coins[rapid.IntRange(0, 99).Draw(t, "coin")] = uint16(v)
	case 6:
		s.Tiles[rapid.SampledFrom([]int{0, 51199, 51200, 102399}).Draw(t, "tile")] = v
	case 7:
		s.Last = uint64(v)
	case 8:
		s.People[0].Angle = math.Copysign(0, float64(v)-1)
	default:
	}
}

func TestRowsAreEqualExactlyWhereTheSubsystemsAre(t *testing.T) {
	h := hasher[town](t)
	alike, apart := 0, 0
	l, err := layout.Of[town]()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		a, b := new(town), new(town)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			disturb(t, a)
			disturb(t, b)
		}
		rowA, rowB := h.Row(nil, a), h.Row(nil, b)
		differ := map[string]bool{}
		for i, byHand := range rowByHand(t, a) {
			same := byHand == rowByHand(t, b)[i]
			require.Equal(t, same, rowA[i] == rowB[i], townNames[i])
			if !same {
				differ[townNames[i]] = true
				apart++
			} else {
				alike++
			}
		}
		equal := slices.Equal(l.Append(nil, a), l.Append(nil, b))
		require.Equal(t, equal, len(differ) == 0)
		require.Equal(t, equal, h.Root(rowA) == h.Root(rowB))
		require.Equal(t, equal, h.Sum(a) == h.Sum(b))
		for _, d := range h.Diff(nil, a, b) {
			top, _, _ := strings.Cut(d.Path, ".")
			top, _, _ = strings.Cut(top, "[")
			require.True(t, differ[top] || differ["Tick to Speed"] && (top == "Tick" || top == "Paused") ||
				differ["Tiles[0:51200]"] || differ["Tiles[51200:102400]"], "%s differs in no subsystem's sum", d.Path)
		}
	})
	require.Positive(t, alike)
	require.Positive(t, apart)
}

func TestARowIsTheSameOnEveryArchitecture(t *testing.T) {
	s := &town{Tick: 9, Last: 3}
	s.People[1] = busy().Fighters[0]
	h := hasher[town](t)
	row := h.Row(nil, s)
	require.Equal(t, "[46c4e856c0ff3f71 7138654d32d576b0 a6b0123d94516d8c 8f8c9188233578c2 fa085da93901ae39 fa085da93901ae39 4d922029c1f42e7d]", fmt.Sprint(row))
	require.Equal(t, "0f428ad2f21670e9", fmt.Sprint(h.Root(row)))
}

func TestARootTellsRowsApart(t *testing.T) {
	h := hasher[town](t)
	row := h.Row(nil, &town{Tick: 9})
	root := h.Root(row)
	require.Equal(t, root, h.Root(slices.Clone(row)))
	for i := range row {
		for bit := range 64 {
			other := slices.Clone(row)
			other[i] ^= 1 << bit
			require.NotEqual(t, root, h.Root(other), "bit %d of %s", bit, townNames[i])
		}
	}
	var b []byte
	for _, sum := range row {
		b = binary.LittleEndian.AppendUint64(b, uint64(sum))
	}
	require.EqualValues(t, xxh3.Hash(b), root)
}

func TestAnEmptyStateHasAnEmptyRowAndOneSum(t *testing.T) {
	h := hasher[struct{}](t)
	require.Empty(t, h.Row(nil, &struct{}{}))
	require.Equal(t, h.Sum(&struct{}{}), h.SumOne(5, &struct{}{}))
}

func TestRowsAndTheirSumsAllocateNothingOnceWarm(t *testing.T) {
	h, o := hasher[town](t), hasher[camp](t)
	s, c := new(town), newCamp(3)
	s.Winds[0] = math.Float32frombits(0xffc00123)
	row, rowOfCamp := h.Row(nil, s), o.Row(nil, c)
	next := uint64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		row = h.Row(row[:0], s)
		h.Root(row)
		h.SumOne(next, s)
		rowOfCamp = o.Row(rowOfCamp[:0], c)
		o.SumOne(next, c)
		next++
	}))
	require.NoError(t, o.Err())
}
