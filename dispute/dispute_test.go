package dispute_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

func TestOneFieldIsFoundInAsManyRoundsAndBytesAsTheFormatSays(t *testing.T) {
	for _, c := range []struct{ size, rounds, messages, bytes int }{
		{48, 3, 3, 121}, // 8 ticks of fingerprints, a length, 48 bytes
		{4 << 10, 4, 4, 650},
		{64 << 10, 5, 5, 779},
		{1 << 20, 6, 6, 1196},
		{64 << 20, 7, 7, 1709},
	} {
		t.Run(fmt.Sprintf("%d bytes", c.size), func(t *testing.T) {
			ours := make([]byte, c.size)
			theirs := make([]byte, c.size)
			at := c.size * 2 / 3
			theirs[at] = 1
			a, b := one(8, 1, ours), one(8, 2, theirs)
			for tick := driftback.Tick(1); tick < 8; tick++ {
				a.roots[tick], b.roots[tick] = 7, 7
			}
			f, _, sent := found(t, 0, 8, a, b)
			require.Equal(t, []dispute.Range{{Offset: at, Ours: []byte{0}, Theirs: []byte{1}}}, f.Ranges)
			require.True(t, f.Exact)
			for _, s := range sent {
				require.Equal(t, c.rounds, s.rounds)
				require.Equal(t, c.messages, s.messages)
				require.Equal(t, c.bytes, s.bytes)
			}
		})
	}
}

func TestTheMostThatASearchSendsIsAsTheFormatSays(t *testing.T) {
	const size = 64 << 20
	ours, theirs := make([]byte, size), make([]byte, size)
	for i := range theirs {
		theirs[i] = 1
	}
	a, b := one(5000, 1, ours), one(5000, 2, theirs)
	for tick := driftback.Tick(1); tick < 5000; tick++ {
		a.roots[tick], b.roots[tick] = 7, 7
	}
	f, _, sent := found(t, 0, 5000, a, b)
	require.True(t, f.More)
	require.Len(t, f.Ranges, dispute.MaxRanges)
	require.False(t, f.Exact, "not all ticks were told")
	for _, s := range sent {
		require.Equal(t, dispute.MaxRounds, s.rounds)
		require.Equal(t, 39_250, s.bytes)
		require.Equal(t, dispute.MaxAhead, s.ahead)
	}
}

func TestTheFirstTickIsThatWhichBothKnowToDiffer(t *testing.T) {
	sums := func(s ...uint64) history {
		h := history{roots: map[driftback.Tick]uint64{}}
		for i, sum := range s {
			if sum != 0 {
				h.roots[11+driftback.Tick(i)] = sum
			}
		}
		return h
	}
	for name, c := range map[string]struct {
		ours, theirs history
		tick         driftback.Tick
		exact        bool
	}{
		"all are known":                       {sums(1, 2, 3, 4), sums(1, 2, 9, 9), 13, true},
		"the first differs":                   {sums(1, 2, 3, 4), sums(9, 9, 9, 9), 11, true},
		"the last alone differs":              {sums(1, 2, 3, 4), sums(1, 2, 3, 9), 14, true},
		"they come together and part again":   {sums(1, 2, 3, 4), sums(1, 9, 3, 9), 12, true},
		"one before is not known to us":       {sums(0, 2, 3, 4), sums(1, 9, 9, 9), 12, false},
		"one before is not known to them":     {sums(1, 2, 3, 4), sums(1, 0, 9, 9), 13, false},
		"only the last is known":              {sums(0, 0, 0, 4), sums(1, 2, 3, 9), 14, false},
		"a peer that says now that it agrees": {sums(1, 2, 3, 4), sums(1, 2, 3, 4), 14, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, _ := found(t, 10, 14, c.ours, c.theirs)
			require.Equal(t, c.tick, f.Tick)
			require.Equal(t, c.exact, f.Exact)
			require.False(t, f.Compared)
		})
	}
}

func TestBeforeTheOtherHasSaidAnythingTheFindingIsWhatWasKnown(t *testing.T) {
	f := dispute.New(10, 18, dispute.Different, one(18, 1, nil)).Finding()
	require.Equal(t, dispute.Finding{Tick: 18, Repeats: [2]dispute.Repeats{dispute.Different, dispute.Untried}}, f)
	require.True(t, dispute.New(10, 11, dispute.Same, one(11, 1, nil)).Finding().Exact, "there is no other tick")
}

func TestStatesOfDifferentLengthsDifferBeyondTheShorterOnesEnd(t *testing.T) {
	long := []byte("0123456789012345678901234567890123456789012345678901234567890123abcdef")
	f, _, _ := found(t, 0, 8, one(8, 1, long[:67]), one(8, 2, long))
	require.Equal(t, []dispute.Range{{Offset: 67, Ours: []byte{}, Theirs: []byte("def")}}, f.Ranges)
	require.Equal(t, 67, f.OursSize)
	require.Equal(t, 70, f.TheirsSize)
	f, _, _ = found(t, 0, 8, one(8, 1, nil), one(8, 2, long))
	require.Equal(t, []dispute.Range{{Offset: 0, Ours: []byte{}, Theirs: long[:64]}, {Offset: 64, Ours: []byte{}, Theirs: long[64:]}}, f.Ranges)
	f, _, _ = found(t, 0, 8, one(8, 1, nil), one(8, 2, nil))
	require.True(t, f.Compared)
	require.Empty(t, f.Ranges, "both are empty")
}

func TestManyDifferencesAreFoundFromTheFirstOn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ours := make([]byte, 1<<20)
	theirs := make([]byte, 1<<20)
	for i := range theirs {
		if r.IntN(5000) == 0 {
			theirs[i] = 1
		}
	}
	want := differing(ours, theirs)
	require.Greater(t, len(want), 100)
	f, _, _ := found(t, 0, 8, one(8, 1, ours), one(8, 2, theirs))
	require.True(t, f.More)
	require.Greater(t, len(f.Ranges), 16-1)
	require.Equal(t, want[:len(f.Ranges)], f.Ranges)
}

func TestWhatAPeerHasOfTheTicksAgainIsTold(t *testing.T) {
	a := dispute.New(0, 8, dispute.Same, one(8, 1, nil))
	b := dispute.New(0, 8, dispute.Different, one(8, 2, nil))
	settle(t, [2]*dispute.Search{a, b}, nil)
	require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Different}, a.Finding().Repeats)
	require.Equal(t, [2]dispute.Repeats{dispute.Different, dispute.Same}, b.Finding().Repeats)
	require.Equal(t, "untried same different unknown",
		fmt.Sprint(dispute.Untried, " ", dispute.Same, " ", dispute.Different, " ", dispute.Repeats(3)))
}
