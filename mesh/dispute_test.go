package mesh

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

func TestADisputeIsSettledWhenBothHaveSeenIt(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	a, b := m.seats[0], m.seats[1]
	b.wrong = 3
	a.publish(4)
	b.publish(4)
	m.turns(2)
	a.lose = everything
	m.goOn(3)
	require.True(t, a.mesh.dispute.open)
	require.True(t, a.mesh.Blocked())
	require.False(t, b.mesh.dispute.open)
	require.Equal(t, Playing, a.mesh.Phase(), "it waits until the other has seen it too")
	require.Contains(t, a.controls(), wire.Disagree{Tick: 3, Sum: 3})
	a.lose = nil
	m.goOn(10)
	require.Equal(t, &DesyncError{Tick: 3, Peer: 1, Ours: 3, Theirs: ^uint64(3)}, a.mesh.Err())
	require.Equal(t, &DesyncError{Tick: 3, Peer: 0, Ours: ^uint64(3), Theirs: 3}, b.mesh.Err())
}

func TestADisputeIsNotSettledBeforeTheOtherIsTold(t *testing.T) {
	for name, link := range map[string]bool{"while the link is up": true, "but a link that is down is not waited for": false} {
		t.Run(name, func(t *testing.T) {
			m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
			a, b := m.seats[0], m.seats[1]
			a.publish(1)
			b.publish(1)
			m.turns(2)
			a.refuses = transport.ErrFull
			a.fingerprint()
			a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
			a.turn()
			if !link {
				a.down(b, "a cable")
			}
			a.give(b, wire.Disagree{Tick: 1, Sum: 0xbad})
			a.turn()
			require.Equal(t, link, a.mesh.Phase() == Playing)
			a.refuses, a.log = nil, nil
			a.turn()
			a.turn()
			require.Equal(t, &DesyncError{Tick: 1, Peer: 1, Ours: 1, Theirs: 0xbad}, a.mesh.Err())
			require.Equal(t, link, slices.Contains(a.controls(), wire.Control(wire.Disagree{Tick: 1, Sum: 1})))
		})
	}
}

func TestADisputeBetweenTwoWaitsForNoThird(t *testing.T) {
	m := playing(t, 3, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	a, b := m.seats[0], m.seats[1]
	m.goOn(1)
	m.turns(2)
	a.fingerprint()
	a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
	a.turn()
	require.True(t, a.mesh.dispute.open)
	told := slices.DeleteFunc(a.controls(), func(c wire.Control) bool { return c != wire.Control(wire.Disagree{Tick: 1, Sum: 1}) })
	require.Len(t, told, 2, "the third may differ too, and waits for this peer's word")
	a.give(b, wire.Disagree{Tick: 1, Sum: 0xbad})
	a.turn()
	require.Equal(t, &DesyncError{Tick: 1, Peer: 1, Ours: 1, Theirs: 0xbad}, a.mesh.Err())
}

func TestTheFirstDisputeIsTheOneThatIsSettled(t *testing.T) {
	m := playing(t, 3, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	m.goOn(1)
	m.turns(2)
	a.fingerprint()
	a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
	a.forge(c, wire.Packet{Sums: wire.Sums{List: []uint64{0xdead}}})
	a.turn()
	b.closed, c.closed = true, true
	m.turns(int(maxDispute/(2*frame)) + 1)
	a.forge(b, wire.Packet{Sums: wire.Sums{First: 1, List: []uint64{0xbad}}})
	m.turns(int(maxDispute/(2*frame)) + 1)
	require.Equal(t, &DesyncError{Tick: 1, Peer: 1, Ours: 1, Theirs: 0xbad}, a.mesh.Err(), "and nothing that comes later prolongs it")
}

func TestADisagreementIsSaidAgainAfterAReconnection(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	b.publish(1)
	m.turns(2)
	a.fingerprint()
	a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
	a.turn()
	require.Contains(t, a.controls(), wire.Disagree{Tick: 1, Sum: 1})
	b.inbox = nil // it was still on its way
	a.down(b, "a cable")
	a.up(b)
	a.turn()
	require.Contains(t, a.controls(), wire.Disagree{Tick: 1, Sum: 1})
}

func TestADisagreementThatComesFirstIsAFingerprint(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	a, b := m.seats[0], m.seats[1]
	a.give(b, wire.Disagree{Tick: 1, Sum: 0xbad})
	a.turn()
	require.False(t, a.mesh.dispute.open, "this peer's own is not known yet")
	a.publish(1)
	b.publish(1)
	m.turns(2)
	require.NoError(t, a.mesh.Fingerprint(1, 0xf00d))
	require.Equal(t, &DesyncError{Tick: 1, Peer: 1, Ours: 0xf00d, Theirs: 0xbad}, a.mesh.Err(), "and both know")
}

func TestADisagreementAboutNothingChangesNothing(t *testing.T) {
	for name, d := range map[string]wire.Disagree{
		"a tick that is not due": {Tick: 3, Sum: 1}, "the start": {Sum: 1}, "the far future": {Tick: wire.MaxTick, Sum: 1},
		"one after the next": {Tick: 4, Sum: 1},
	} {
		m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 2, 4 })
		a, b := m.seats[0], m.seats[1]
		a.give(b, d)
		m.goOn(20)
		require.NoError(t, a.mesh.Err(), name)
		require.Greater(t, a.mesh.Agreed(), driftback.Tick(4), name)
	}
}

func TestADisputeLastsFiveSecondsAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		ending  func(a, b *seat)
		after   time.Duration
	}{
		"a peer that says nothing more":        {None, func(a, b *seat) { b.closed = true }, maxDispute},
		"a peer that is lost meanwhile":        {time.Second, func(a, b *seat) { b.closed = true }, maxDispute},
		"a peer that leaves meanwhile":         {None, func(a, b *seat) { a.give(b, wire.Leave{}) }, 0},
		"a peer that halts the match for it":   {None, func(a, b *seat) { a.give(b, wire.Leave{Reason: LeaveHalted}) }, 0},
		"a peer whose link is down":            {None, func(a, b *seat) { b.closed = true; a.down(b, "a cable") }, maxDispute},
		"a peer that talks and does not agree": {None, func(a, b *seat) { b.wrong = 0; b.lose = nil }, maxDispute},
	} {
		t.Run(name, func(t *testing.T) {
			m := playing(t, 2, func(cfg *Config) { cfg.FingerprintEvery, cfg.History, cfg.PeerTimeout = 1, 2, c.timeout })
			a, b := m.seats[0], m.seats[1]
			a.publish(1)
			b.publish(1)
			m.turns(2)
			a.fingerprint()
			a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
			a.turn()
			require.True(t, a.mesh.dispute.open)
			since := m.now
			c.ending(a, b)
			for a.mesh.Phase() != Ended {
				m.turn()
				require.LessOrEqual(t, m.now-since, time.Minute)
			}
			require.Equal(t, &DesyncError{Tick: 1, Peer: 1, Ours: 1, Theirs: 0xbad}, a.mesh.Err(), "the better answer")
			require.InDelta(t, float64(c.after), float64(m.now-since), float64(2*frame))
		})
	}
}

func TestAmongThreeTheOneThatDiffersIsNamed(t *testing.T) {
	m := playing(t, 3, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
	m.seats[1].wrong = 4
	m.goOn(40)
	for _, s := range m.seats {
		var desync *DesyncError
		if s.self == 2 && errors.Is(s.mesh.Err(), ErrHalted) {
			continue // the others settled it first
		}
		require.ErrorAs(t, s.mesh.Err(), &desync)
		require.EqualValues(t, 4, desync.Tick)
		if s.self != 1 {
			require.EqualValues(t, 1, desync.Peer)
		}
	}
}

func TestAnEarlierDifferenceIsABetterAnswerThanTheLastState(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History, c.Window = 2, 4, 20 })
	a, b := m.seats[0], m.seats[1]
	a.publish(10)
	b.publish(10)
	m.turns(2)
	b.wrong = 4
	a.lose, b.lose = everything, everything
	for _, s := range m.seats {
		s.fingerprint()
		s.mesh.Finish(10, uint64(s.self), true)
	}
	m.turns(3)
	require.Equal(t, Playing, a.mesh.Phase())
	a.lose, b.lose = nil, nil
	m.turns(10)
	for _, s := range m.seats {
		var desync *DesyncError
		require.ErrorAs(t, s.mesh.Err(), &desync)
		require.EqualValues(t, 4, desync.Tick)
	}
}

func TestAnEarlierDifferenceIsNotWaitedForWhenItCannotCome(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		ending  func(a, b *seat)
		each    func(a, b *seat) // at every turn
		after   time.Duration
	}{
		"the link is down, and nobody is ever given up": {
			None, func(a, b *seat) { a.down(b, "a cable") }, func(_, _ *seat) {}, maxDispute,
		},
		"the link is up, and nothing comes over it": {
			time.Second, func(_, _ *seat) {}, func(_, _ *seat) {}, time.Second + maxDispute,
		},
		"the peer speaks, and says nothing of it": {
			time.Second, func(_, _ *seat) {},
			func(a, b *seat) { a.give(b, wire.Finish{At: 4, Sum: 0xbad, HasSum: true}) }, time.Second + maxDispute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 2, 4, func(cfg *Config) { cfg.FingerprintEvery, cfg.History, cfg.PeerTimeout = 3, 6, c.timeout })
			a, b := m.seats[0], m.seats[1]
			a.fingerprint()
			a.give(b, wire.Finish{At: 4, Sum: 0xbad, HasSum: true})
			a.turn()
			a.mesh.Finish(4, 4, true)
			require.True(t, a.mesh.prints.waiting(&a.mesh.links[0], 4))
			require.False(t, a.mesh.dispute.open, "it may come yet")
			b.closed = true
			c.ending(a, b)
			since := m.now
			for a.mesh.Phase() != Ended {
				c.each(a, b)
				m.turn()
				require.LessOrEqual(t, m.now-since, time.Minute)
			}
			require.Equal(t, &DesyncError{Tick: 4, Peer: 1, Ours: 4, Theirs: 0xbad}, a.mesh.Err())
			require.InDelta(t, float64(c.after), float64(m.now-since), float64(2*frame))
		})
	}
}
