package dispute_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

// history is a witness that holds what it has been given.
type history struct {
	roots  map[driftback.Tick]uint64
	states map[driftback.Tick][]byte
}

func (h history) Root(t driftback.Tick) (uint64, bool) {
	sum, ok := h.roots[t]
	return sum, ok
}

func (h history) State(t driftback.Tick) ([]byte, bool) {
	b, ok := h.states[t]
	return b, ok
}

// one is a history of one state.
func one(t driftback.Tick, sum uint64, state []byte) history {
	return history{map[driftback.Tick]uint64{t: sum}, map[driftback.Tick][]byte{t: state}}
}

// traffic is what one side sent.
type traffic struct{ messages, bytes, rounds, ahead int }

// settle has two searches talk until neither has more to say, and returns what each sent. turn
// says who comes next, if it has something to do; nil is one after the other.
func settle(t require.TestingT, both [2]*dispute.Search, turn func() int) (sent [2]traffic) {
	var under [2][][]byte // messages under way to a side
	last := [2]byte{0xff, 0xff}
	act := func(who int) bool {
		if b, ok := both[who].Next([]byte("kept")); ok {
			require.Equal(t, "kept", string(b[:4]))
			b = b[4:]
			require.LessOrEqual(t, len(b), dispute.MaxMessage)
			under[1-who] = append(under[1-who], b)
			c := &sent[who]
			c.messages++
			c.bytes += len(b)
			c.ahead = max(c.ahead, len(under[1-who]))
			if b[0] != last[who] {
				last[who] = b[0]
				c.rounds++
			}
			return true
		}
		if len(under[who]) == 0 {
			return false
		}
		require.NoError(t, both[who].Take(under[who][0]))
		under[who] = under[who][1:]
		return true
	}
	for i := 0; ; i++ {
		who := i % 2
		if turn != nil {
			who = turn()
		}
		if !act(who) && !act(1-who) {
			return sent
		}
	}
}

// mirrored requires that one side has found what the other has.
func mirrored(t require.TestingT, a, b dispute.Finding) {
	b.Repeats[0], b.Repeats[1] = b.Repeats[1], b.Repeats[0]
	b.OursSize, b.TheirsSize = b.TheirsSize, b.OursSize
	var roots []dispute.RootPair
	for _, r := range b.Roots {
		roots = append(roots, dispute.RootPair{Tick: r.Tick, Ours: r.Theirs, Theirs: r.Ours, OursKnown: r.TheirsKnown, TheirsKnown: r.OursKnown})
	}
	b.Roots = roots
	var ranges []dispute.Range
	for _, r := range b.Ranges {
		ranges = append(ranges, dispute.Range{Offset: r.Offset, Ours: r.Theirs, Theirs: r.Ours})
	}
	b.Ranges = ranges
	require.Equal(t, a, b)
}

func found(t *testing.T, agreed, at driftback.Tick, ours, theirs history) (a, b dispute.Finding, sent [2]traffic) {
	t.Helper()
	both := [2]*dispute.Search{dispute.New(agreed, at, dispute.Same, ours), dispute.New(agreed, at, dispute.Same, theirs)}
	sent = settle(t, both, nil)
	require.True(t, both[0].Done())
	require.True(t, both[1].Done())
	a, b = both[0].Finding(), both[1].Finding()
	mirrored(t, a, b)
	return a, b, sent
}
