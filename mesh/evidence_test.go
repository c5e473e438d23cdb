package mesh

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// differing returns a match of n peers that give evidence, at the moment in which all know that
// peer 1's state as tick 3 began is another.
func differing(t *testing.T, n int) *match {
	t.Helper()
	m := playing(t, n, func(c *Config) { c.FingerprintEvery, c.History, c.Evidence = 1, 2, true })
	m.seats[1].wrong = 3
	m.goOn(10)
	for _, s := range m.seats {
		require.Equal(t, Playing, s.mesh.Phase(), "peer %d: %v", s.self, s.mesh.Err())
		require.True(t, s.mesh.dispute.open)
		s.log = nil
	}
	return m
}

func TestTwoThatDifferExchangeEvidenceUntilBothHaveSettled(t *testing.T) {
	m := differing(t, 2)
	a, b := m.seats[0], m.seats[1]
	require.Equal(t, []Disagreement{{Peer: 1, Tick: 3, Ours: 3, Theirs: ^uint64(3)}}, a.mesh.Disagreements(nil))
	require.Equal(t, []Disagreement{{Peer: 0, Tick: 3, Ours: ^uint64(3), Theirs: 3}}, b.mesh.Disagreements(nil))
	for i := range 3 {
		require.True(t, a.mesh.SendEvidence(1, []byte{1, byte(i)}))
		require.True(t, b.mesh.SendEvidence(0, []byte{2, byte(i)}))
	}
	m.turn()
	for i := range 3 {
		got, ok := a.mesh.NextEvidence(1)
		require.True(t, ok)
		require.Equal(t, []byte{2, byte(i)}, got)
		got, ok = b.mesh.NextEvidence(0)
		require.True(t, ok)
		require.Equal(t, []byte{1, byte(i)}, got)
	}
	_, ok := a.mesh.NextEvidence(1)
	require.False(t, ok)
	a.mesh.Settle(1)
	a.mesh.Settle(1)
	m.turns(20)
	require.Equal(t, Playing, a.mesh.Phase(), "the other has not settled")
	require.Equal(t, Playing, b.mesh.Phase())
	require.True(t, b.mesh.SendEvidence(0, []byte("more")), "and is still answered")
	require.False(t, a.mesh.SendEvidence(1, []byte("more")), "with nothing but what was said before")
	m.turn()
	got, ok := a.mesh.NextEvidence(1)
	require.True(t, ok)
	require.Equal(t, "more", string(got))
	b.mesh.Settle(0)
	m.turns(2)
	require.Equal(t, &DesyncError{Tick: 3, Peer: 1, Ours: 3, Theirs: ^uint64(3)}, a.mesh.Err())
	require.Equal(t, &DesyncError{Tick: 3, Peer: 0, Ours: ^uint64(3), Theirs: 3}, b.mesh.Err())
	for _, s := range m.seats {
		require.Equal(t, [Refusals]uint64{}, s.mesh.Refused())
	}
}

func TestADisputeThatIsNotExplainedLastsFiveSecondsAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		ending func(a, b *seat)
		most   bool
	}{
		"nobody settles":                            {func(_, _ *seat) {}, true},
		"the other does not settle":                 {func(a, _ *seat) { a.mesh.Settle(1) }, true},
		"this one does not settle":                  {func(_, b *seat) { b.mesh.Settle(0) }, true},
		"the other says nothing more":               {func(a, b *seat) { a.mesh.Settle(1); b.closed = true }, true},
		"the other leaves":                          {func(a, b *seat) { a.give(b, wire.Leave{Reason: LeaveHalted}); b.closed = true }, false},
		"this one has settled and the link is down": {func(a, b *seat) { a.mesh.Settle(1); b.closed = true; a.down(b, "a cable") }, false},
		"it has not settled and the link is down":   {func(a, b *seat) { b.closed = true; a.down(b, "a cable") }, true},
		"the other goes on sending":                 {func(_, b *seat) { b.mesh.SendEvidence(0, []byte{1}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := differing(t, 2)
			a, b := m.seats[0], m.seats[1]
			since := a.mesh.dispute.since
			c.ending(a, b)
			for a.mesh.Phase() != Ended {
				m.turn()
				require.LessOrEqual(t, m.now-since, 2*maxDispute)
			}
			require.Equal(t, &DesyncError{Tick: 3, Peer: 1, Ours: 3, Theirs: ^uint64(3)}, a.mesh.Err())
			if c.most {
				require.InDelta(t, float64(maxDispute), float64(a.mesh.clock-since), float64(2*frame))
			} else {
				require.Less(t, a.mesh.clock-since, maxDispute/5)
			}
		})
	}
}

func TestAPeerThatGivesNoEvidenceHoldsTheEndUpByNoMore(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History, c.Evidence = 1, 2, c.Self == 0 })
	a, b := m.seats[0], m.seats[1]
	b.wrong = 3
	m.goOn(10)
	require.Equal(t, Ended, b.mesh.Phase(), "it ends as ever, and says so")
	require.Equal(t, Ended, a.mesh.Phase())
	require.IsType(t, &DesyncError{}, a.mesh.Err())
}

func TestEvidenceOfNothingIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		evidence wire.Evidence
		before   func(a, b *seat)
	}{
		"of another tick":         {wire.Evidence{Tick: 4, Data: []byte{1}}, func(_, _ *seat) {}},
		"the end of another tick": {wire.Evidence{Tick: 2}, func(_, _ *seat) {}},
		"after its end":           {wire.Evidence{Tick: 3, Data: []byte{1}}, func(a, b *seat) { a.give(b, wire.Evidence{Tick: 3}) }},
		"another end":             {wire.Evidence{Tick: 3}, func(a, b *seat) { a.give(b, wire.Evidence{Tick: 3}) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := differing(t, 2)
			a, b := m.seats[0], m.seats[1]
			c.before(a, b)
			a.give(b, c.evidence)
			a.turn()
			require.EqualValues(t, 1, a.mesh.Refused()[BadEvidence])
			_, ok := a.mesh.NextEvidence(1)
			require.False(t, ok)
		})
	}
	t.Run("where nothing is disputed", func(t *testing.T) {
		m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History, c.Evidence = 1, 2, true })
		a, b := m.seats[0], m.seats[1]
		m.goOn(3)
		require.False(t, a.mesh.SendEvidence(1, []byte{1}))
		a.mesh.Settle(1)
		require.Empty(t, a.mesh.Disagreements(nil))
		a.give(b, wire.Evidence{Tick: 3, Data: []byte{1}})
		a.give(b, wire.Evidence{})
		m.goOn(10)
		require.EqualValues(t, 2, a.mesh.Refused()[BadEvidence])
		require.Equal(t, Playing, a.mesh.Phase())
		require.False(t, a.mesh.SendEvidence(7, []byte{1}), "nobody")
		a.mesh.Settle(7)
		_, ok := a.mesh.NextEvidence(7)
		require.False(t, ok)
	})
	t.Run("of one that says another thing than it said before", func(t *testing.T) {
		m := differing(t, 2)
		a, b := m.seats[0], m.seats[1]
		a.give(b, wire.Disagree{Tick: 4, Sum: 1})
		a.give(b, wire.Disagree{Tick: 3, Sum: 3})
		a.turn()
		require.Len(t, a.mesh.Disagreements(nil), 1, "the first counts")
	})
}

func TestAFloodOfEvidenceIsRefused(t *testing.T) {
	m := differing(t, 2)
	a, b := m.seats[0], m.seats[1]
	for i := range maxUnheard + 5 {
		a.give(b, wire.Evidence{Tick: 3, Data: bytes.Repeat([]byte{byte(i)}, MaxEvidence)})
	}
	a.turn()
	require.EqualValues(t, 5, a.mesh.Refused()[Flood])
	for i := range maxUnheard {
		got, ok := a.mesh.NextEvidence(1)
		require.True(t, ok)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, MaxEvidence), got, "what came first counts")
	}
	a.give(b, wire.Evidence{Tick: 3, Data: []byte("again")})
	a.turn()
	got, ok := a.mesh.NextEvidence(1)
	require.True(t, ok)
	require.Equal(t, "again", string(got))
}

func TestOnlySoMuchEvidenceGoesInOneTurn(t *testing.T) {
	m := differing(t, 2)
	a, b := m.seats[0], m.seats[1]
	for range evidencePerTurn {
		require.True(t, a.mesh.SendEvidence(1, make([]byte, MaxEvidence)))
	}
	require.False(t, a.mesh.SendEvidence(1, []byte{1}))
	m.turn()
	require.True(t, a.mesh.SendEvidence(1, []byte{1}))
	a.refuses = transport.ErrFull
	require.False(t, a.mesh.SendEvidence(1, []byte{2}), "the channel is full")
	a.mesh.Settle(1)
	m.turn()
	require.False(t, b.mesh.links[0].evidence.over)
	a.refuses = nil
	m.turns(2)
	require.True(t, b.mesh.links[0].evidence.over, "what was owed is said when there is room")
	require.Equal(t, Playing, b.mesh.Phase())
	require.Equal(t, [Refusals]uint64{}, b.mesh.Refused())

	require.False(t, b.mesh.SendEvidence(0, nil))
	require.ErrorIs(t, b.mesh.Err(), ErrInternal)
}

func TestEvidenceBeginsAnewWhenTheLinkComesBack(t *testing.T) {
	m := differing(t, 2)
	a, b := m.seats[0], m.seats[1]
	require.True(t, a.mesh.SendEvidence(1, []byte("lost")))
	a.mesh.links[0].evidence.over = true // as it had told before
	a.inbox, b.inbox = nil, nil          // they were on their way
	a.down(b, "a cable")
	b.down(a, "a cable")
	m.turns(2)
	require.False(t, a.mesh.SendEvidence(1, []byte("to nobody")))
	a.up(b)
	b.up(a)
	m.turns(3)
	require.Equal(t, []Disagreement{{Peer: 1, Tick: 3, Ours: 3, Theirs: ^uint64(3), Round: 1}}, a.mesh.Disagreements(nil))
	require.Equal(t, []Disagreement{{Peer: 0, Tick: 3, Ours: ^uint64(3), Theirs: 3, Round: 1}}, b.mesh.Disagreements(nil))
	require.True(t, a.mesh.SendEvidence(1, []byte("again")))
	require.True(t, b.mesh.SendEvidence(0, []byte("again")))
	m.turn()
	for _, s := range m.seats {
		got, ok := s.mesh.NextEvidence(1 - s.self)
		require.True(t, ok)
		require.Equal(t, "again", string(got))
		s.mesh.Settle(1 - s.self)
	}
	m.turns(2)
	for _, s := range m.seats {
		require.IsType(t, &DesyncError{}, s.mesh.Err())
		require.Equal(t, [Refusals]uint64{}, s.mesh.Refused())
	}
}

func TestAmongThreeEvidenceGoesBetweenAllThatDiffer(t *testing.T) {
	m := differing(t, 3)
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	with := func(s *seat) (peers []driftback.Peer) {
		for _, d := range s.mesh.Disagreements(nil) {
			require.EqualValues(t, 3, d.Tick)
			peers = append(peers, d.Peer)
		}
		return peers
	}
	require.Equal(t, []driftback.Peer{1}, with(a))
	require.Equal(t, []driftback.Peer{0, 2}, with(b))
	require.Equal(t, []driftback.Peer{1}, with(c))
	require.False(t, a.mesh.SendEvidence(2, []byte{1}), "they are of the same mind")
	a.mesh.Settle(1)
	b.mesh.Settle(0)
	m.turns(3)
	require.IsType(t, &DesyncError{}, a.mesh.Err(), "it knows all that it can know")
	require.Equal(t, Playing, b.mesh.Phase(), "another wants to know too")
	require.Equal(t, Playing, c.mesh.Phase(), "and is not kept from that by one that leaves")
	require.True(t, b.mesh.SendEvidence(2, []byte{1}))
	m.turn()
	_, ok := c.mesh.NextEvidence(1)
	require.True(t, ok)
	b.mesh.Settle(2)
	c.mesh.Settle(1)
	m.turns(3)
	for _, s := range m.seats {
		require.IsType(t, &DesyncError{}, s.mesh.Err())
		require.Equal(t, [Refusals]uint64{}, s.mesh.Refused())
	}
}

func TestWhoHasNotComeToTheDifferenceIsWaitedForForAWhile(t *testing.T) {
	for name, comes := range map[string]bool{"and comes": true, "and does not": false} {
		t.Run(name, func(t *testing.T) {
			m := playing(t, 3, func(c *Config) { c.FingerprintEvery, c.History, c.Evidence = 1, 2, true })
			a, b, c := m.seats[0], m.seats[1], m.seats[2]
			b.wrong = 1
			m.goOn(1)
			c.closed = true
			c.inbox = nil
			m.goOn(3)
			a.mesh.Settle(1)
			b.mesh.Settle(0)
			m.turns(3)
			require.Equal(t, Playing, a.mesh.Phase())
			require.Equal(t, Playing, b.mesh.Phase())
			if comes {
				a.give(c, wire.Disagree{Tick: 1, Sum: 1})
				b.give(c, wire.Disagree{Tick: 1, Sum: 1})
				m.turns(2)
				require.IsType(t, &DesyncError{}, a.mesh.Err(), "it is of the same mind")
				require.Equal(t, Playing, b.mesh.Phase())
				b.mesh.Settle(2)
				b.give(c, wire.Evidence{Tick: 1})
				m.turns(2)
				require.IsType(t, &DesyncError{}, b.mesh.Err())
				return
			}
			since := a.mesh.dispute.since
			m.turns(int(maxThird/frame) + 2)
			for _, s := range m.seats[:2] {
				require.IsType(t, &DesyncError{}, s.mesh.Err())
				require.Less(t, s.mesh.clock-since, maxThird+8*frame)
			}
		})
	}
}

func TestEvidenceThatCameBeforeTheEndCanBeTakenAfterIt(t *testing.T) {
	m := differing(t, 2)
	a, b := m.seats[0], m.seats[1]
	a.give(b, wire.Evidence{Tick: 3, Data: []byte("the last word")})
	a.give(b, wire.Evidence{Tick: 3})
	a.give(b, wire.Leave{Reason: LeaveHalted})
	a.turn()
	require.Equal(t, Ended, a.mesh.Phase())
	require.Len(t, a.mesh.Disagreements(nil), 1)
	got, ok := a.mesh.NextEvidence(1)
	require.True(t, ok)
	require.Equal(t, "the last word", string(got))
	require.False(t, a.mesh.SendEvidence(1, []byte{1}))
	a.mesh.Settle(1)
}
