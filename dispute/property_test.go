package dispute_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

// differing returns the ranges in which two states differ, by looking at all of them.
func differing(ours, theirs []byte) (list []dispute.Range) {
	block := func(b []byte, at int) []byte {
		return b[min(at, len(b)):min(at+dispute.BlockSize, len(b))]
	}
	for at := 0; at < max(len(ours), len(theirs)); at += dispute.BlockSize {
		a, b := block(ours, at), block(theirs, at)
		if bytes.Equal(a, b) {
			continue
		}
		skip := 0
		for skip < min(len(a), len(b)) && a[skip] == b[skip] {
			skip++
		}
		a, b = a[skip:], b[skip:]
		if len(a) == len(b) {
			for a[len(a)-1] == b[len(b)-1] {
				a, b = a[:len(a)-1], b[:len(b)-1]
			}
		}
		list = append(list, dispute.Range{Offset: at + skip, Ours: a, Theirs: b})
	}
	return list
}

// changed returns a state with some bytes that differ, and perhaps another length.
func changed(t *rapid.T, state []byte) []byte {
	other := bytes.Clone(state)
	if rapid.IntRange(0, 3).Draw(t, "resized") == 0 {
		size := rapid.OneOf(rapid.IntRange(0, 1<<20), rapid.IntRange(max(0, len(state)-200), len(state)+200)).Draw(t, "size of theirs")
		if size <= len(other) {
			other = other[:size]
		} else {
			other = append(other, make([]byte, size-len(other))...)
		}
	}
	if len(other) == 0 {
		return other
	}
	for range rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 200)).Draw(t, "changes") {
		at := rapid.IntRange(0, len(other)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "near the beginning") {
			at %= min(len(other), 8192)
		}
		other[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
	}
	return other
}

// parted draws two histories that part somewhere, of which either peer knows something.
type parted struct {
	agreed, found, first driftback.Tick
	both                 [2]history
}

func part(t *rapid.T) (p parted) {
	p.agreed = driftback.Tick(rapid.Int64Range(0, 1<<40).Draw(t, "agreed"))
	span := rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, 3000)).Draw(t, "span")
	p.found = p.agreed + driftback.Tick(span)
	p.first = p.agreed + 1 + driftback.Tick(rapid.IntRange(0, span-1).Draw(t, "first"))
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 70_000), rapid.IntRange(0, 1<<20)).Draw(t, "size")
	state := make([]byte, size)
	for i := range state {
		state[i] = byte(r.Uint32())
	}
	for i := range p.both {
		p.both[i] = history{map[driftback.Tick]uint64{}, map[driftback.Tick][]byte{}}
	}
	alike := rapid.Bool().Draw(t, "they come together again")
	for at := p.agreed + 1; at <= p.found; at++ {
		sum := r.Uint64()
		for i, h := range p.both {
			if i == 1 && (at == p.first || at == p.found || at > p.first && !alike) {
				sum++
			}
			h.roots[at] = sum
		}
	}
	p.both[0].states[p.first], p.both[1].states[p.first] = state, changed(t, state)
	if p.first != p.found {
		p.both[0].states[p.found], p.both[1].states[p.found] = state, changed(t, state)
	}
	for _, h := range p.both {
		p.forget(t, h)
	}
	return p
}

// forget takes away some of what a peer knows, which is never the last fingerprint.
func (p *parted) forget(t *rapid.T, h history) {
	switch rapid.IntRange(0, 3).Draw(t, "knows") {
	case 0:
		for at := p.agreed + 1; at < p.found; at++ {
			delete(h.roots, at)
		}
	case 1:
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "forgets"), 0))
		for at := p.agreed + 1; at < p.found; at++ {
			if r.IntN(4) == 0 {
				delete(h.roots, at)
			}
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "forgets a state") == 0 {
		delete(h.states, rapid.SampledFrom([]driftback.Tick{p.first, p.found}).Draw(t, "which"))
	}
}

// told reports whether a tick's fingerprint is among those that are told.
func (p *parted) told(at driftback.Tick) bool { return at-p.agreed < dispute.MaxRoots || at == p.found }

// truth is the first tick of which both know that it differs, and whether they know it of all before.
func (p *parted) truth() (first driftback.Tick, exact bool) {
	exact = true
	for at := p.agreed + 1; at < p.found; at++ {
		a, okA := p.both[0].roots[at]
		b, okB := p.both[1].roots[at]
		if known := okA && okB && p.told(at); known && a != b {
			return at, exact
		} else if !known {
			exact = false
		}
	}
	return p.found, exact
}

func TestTwoHistoriesArePartedAtTheFirstTickAndInTheVeryBytes(t *testing.T) {
	walked := 0
	rapid.Check(t, func(t *rapid.T) {
		p := part(t)
		repeats := [2]dispute.Repeats{
			dispute.Repeats(rapid.IntRange(0, 2).Draw(t, "repeats")), dispute.Repeats(rapid.IntRange(0, 2).Draw(t, "theirs"))}
		var both [2]*dispute.Search
		for i := range both {
			both[i] = dispute.New(p.agreed, p.found, repeats[i], p.both[i])
		}
		order := rapid.Uint64().Draw(t, "order")
		r := rand.New(rand.NewPCG(order, 1))
		settle(t, both, func() int { return r.IntN(2) })
		require.True(t, both[0].Done())
		require.True(t, both[1].Done())
		f := both[0].Finding()
		mirrored(t, f, both[1].Finding())

		first, exact := p.truth()
		require.Equal(t, first, f.Tick)
		require.Equal(t, exact, f.Exact)
		require.Equal(t, repeats, f.Repeats)
		for _, pair := range f.Roots {
			for i, h := range p.both {
				sum, known := h.roots[pair.Tick]
				require.Equal(t, known, [2]bool{pair.OursKnown, pair.TheirsKnown}[i])
				require.Equal(t, sum, [2]uint64{pair.Ours, pair.Theirs}[i])
			}
		}

		at, kept := first, p.keep(first)
		if !kept {
			at, kept = p.found, p.keep(p.found)
		}
		require.Equal(t, kept, f.Compared)
		if !kept {
			require.Empty(t, f.Ranges)
			return
		}
		walked++
		require.Equal(t, at, f.At)
		ours, theirs := p.both[0].states[at], p.both[1].states[at]
		require.Equal(t, len(ours), f.OursSize)
		require.Equal(t, len(theirs), f.TheirsSize)
		want := differing(ours, theirs)
		if f.More {
			require.GreaterOrEqual(t, len(f.Ranges), min(16, len(want)-1))
			require.LessOrEqual(t, len(f.Ranges), dispute.MaxRanges)
			require.Less(t, len(f.Ranges), len(want))
			want = want[:len(f.Ranges)]
		}
		require.Equal(t, len(want), len(f.Ranges))
		for i, r := range want {
			require.Equal(t, r.Offset, f.Ranges[i].Offset)
			require.True(t, bytes.Equal(r.Ours, f.Ranges[i].Ours) && bytes.Equal(r.Theirs, f.Ranges[i].Theirs), i)
		}
	})
	require.NotZero(t, walked, "no states were walked")
}

func (p *parted) keep(at driftback.Tick) bool {
	_, a := p.both[0].states[at]
	_, b := p.both[1].states[at]
	return a && b
}

// A peer that says whatever it likes, in messages of the lengths that are to come.
func TestALyingPeerEndsASearchThatIsNoLongerThanAnother(t *testing.T) {
	lied := 0
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, 3000)).Draw(t, "span")
		state := make([]byte, rapid.IntRange(0, 1<<16).Draw(t, "size"))
		at := driftback.Tick(100 + span)
		s := dispute.New(100, at, dispute.Same, one(at, xxh3.Hash(state), state))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		bits := rapid.IntRange(0, 64).Draw(t, "bits")
		sent, rounds := 0, byte(0)
		for range 400 {
			for b, ok := s.Next(nil); ok; b, ok = s.Next(nil) {
				sent += len(b)
				rounds = b[0] + 1
			}
			if s.Done() {
				break
			}
			b := lie(s, r, bits)
			if b == nil {
				break
			}
			lied++
			if err := s.Take(b); err != nil {
				require.ErrorIs(t, err, dispute.ErrMalformed)
				break
			}
		}
		require.LessOrEqual(t, sent, 64<<10)
		require.LessOrEqual(t, int(rounds), dispute.MaxRounds)
		f := s.Finding()
		require.LessOrEqual(t, len(f.Ranges), dispute.MaxRanges)
		require.LessOrEqual(t, len(f.Roots), dispute.MaxRoots)
		require.True(t, f.Tick > 100 && f.Tick <= at)
	})
	require.NotZero(t, lied)
}
