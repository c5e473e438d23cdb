package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/wire"
)

// comparing returns a match of two that compare a fingerprint every tick.
func comparing(t rapid.TB, every, history int) *match {
	return playing(t, 2, func(c *Config) { c.FingerprintEvery, c.History, c.Window = every, history, 64 })
}

// withoutSums sends a seat's packets on without the fingerprints in them.
func withoutSums(from *seat) func(to *seat, p *wire.Packet) bool {
	return func(to *seat, p *wire.Packet) bool {
		stripped := *p
		stripped.Sums = wire.Sums{}
		to.forge(from, stripped)
		return true
	}
}

func TestFingerprintsThatWereLostAreTheSameWhenTheyAreSentAgain(t *testing.T) {
	// While everything that peer 1 says about fingerprints is lost, it has already
	// compared what peer 0 said and goes on. What it sends again must not be what it
	// has found since.
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	b.lose = withoutSums(b)
	m.goOn(400)
	require.Greater(t, b.mesh.prints.next, a.mesh.prints.next, "the peer that hears has gone further")
	require.True(t, a.mesh.Blocked(), "and the one that does not waits")
	b.lose = nil
	m.turns(100)
	require.NoError(t, a.mesh.Err())
	require.False(t, a.mesh.dispute.open)
	require.Equal(t, b.mesh.Agreed(), a.mesh.Agreed())
	require.False(t, a.mesh.Blocked())
}

// goOn plays n turns in which every seat that may does publish and fingerprint.
func (m *match) goOn(n int) {
	m.t.Helper()
	for range n {
		for _, s := range m.seats {
			if s.mesh.Phase() == Playing && !s.mesh.Blocked() && s.mesh.Held(s.mesh.own[0]) < s.mesh.Confirmed()+4 {
				s.publish(1)
			}
			s.fingerprint()
		}
		m.turn()
	}
}

func TestFingerprintsThatNobodyAcknowledgesStopTheMatchUntilSomebodyDoes(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	a.lose = func(to *seat, p *wire.Packet) bool {
		stripped := *p
		stripped.SumAck = wire.SumAck{}
		to.forge(a, stripped)
		return true
	}
	m.goOn(400)
	require.EqualValues(t, leastKept, b.mesh.prints.next, "as many as are kept wait")
	require.Zero(t, b.mesh.links[0].prints.acked)
	require.True(t, b.mesh.Blocked())
	_, ok := b.mesh.Due()
	require.False(t, ok)
	a.lose = nil
	m.goOn(100)
	require.False(t, b.mesh.Blocked())
	require.Greater(t, b.mesh.prints.next, uint64(leastKept))
}

func TestADifferenceIsFoundAtTheFirstTickOnBothSides(t *testing.T) {
	for _, c := range []struct {
		every, history int
		differ         driftback.Tick
	}{{1, 2, 1}, {1, 4096, 30}, {3, 6, 12}, {8, 16, 8}, {8, 4096, 160}, {50, 100, 100}} {
		for _, lossy := range []bool{false, true} {
			m := comparing(t, c.every, c.history)
			a, b := m.seats[0], m.seats[1]
			if lossy {
				for _, s := range m.seats {
					draw := rng.New(uint64(c.every), uint64(s.self))
					s.lose = func(*seat, *wire.Packet) bool { return draw.Uint64()%2 == 0 }
				}
			}
			b.wrong = c.differ
			m.goOn(1500)
			for _, s := range m.seats {
				var desync *DesyncError
				require.ErrorAs(t, s.mesh.Err(), &desync, "%+v lossy %v", c, lossy)
				require.Equal(t, c.differ, desync.Tick, "%+v lossy %v", c, lossy)
				require.Equal(t, 1-s.self, desync.Peer)
				ours, theirs := uint64(c.differ), ^uint64(c.differ)
				if s == b {
					ours, theirs = theirs, ours
				}
				require.Equal(t, []uint64{ours, theirs}, []uint64{desync.Ours, desync.Theirs})
				require.ErrorContains(t, s.mesh.Err(), "here and")
			}
			require.Equal(t, c.differ-driftback.Tick(c.every), a.mesh.Agreed(), "what came before was agreed")
		}
	}
}

func TestFingerprintsComeInAnyOrderAndMoreThanOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := comparing(t, 1, 2)
		a, b := m.seats[0], m.seats[1]
		n := rapid.IntRange(1, MaxUncompared).Draw(t, "fingerprints")
		for _, s := range m.seats {
			s.publish(n)
		}
		m.turns(3)
		require.EqualValues(t, n, a.mesh.Confirmed())
		differ := rapid.IntRange(-1, n-1).Draw(t, "the first that differs")
		sum := func(i int) uint64 {
			if differ >= 0 && i >= differ {
				return 0xbad
			}
			return uint64(i + 1)
		}
		order := rapid.Permutation(ints(n)).Draw(t, "order")
		mine := rapid.IntRange(0, n).Draw(t, "how many come before ours are known")
		for k, i := range order {
			if k == mine {
				a.fingerprint()
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				a.forge(b, wire.Packet{Sums: wire.Sums{First: uint64(i), List: []uint64{sum(i)}}})
			}
			a.mesh.Poll(m.now)
		}
		a.fingerprint()
		if differ < 0 {
			require.False(t, a.mesh.dispute.open)
			require.EqualValues(t, n, a.mesh.Agreed())
			return
		}
		require.True(t, a.mesh.dispute.open)
		require.EqualValues(t, differ+1, a.mesh.dispute.err.Tick, "the first, whatever came first")
		require.EqualValues(t, differ, a.mesh.Agreed())
		require.True(t, a.mesh.Blocked())
	})
}

func ints(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestAFingerprintThatIsTooEarlyIsRefused(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	for _, c := range []struct {
		first   uint64
		refused uint64
	}{{leastKept - 1, 0}, {leastKept, 1}, {uint64(wire.MaxTick), 1}} {
		before := a.mesh.Refused()[FarFingerprint]
		a.forge(b, wire.Packet{Sums: wire.Sums{First: c.first, List: []uint64{1}}})
		a.mesh.Poll(m.now)
		require.Equal(t, c.refused, a.mesh.Refused()[FarFingerprint]-before, "index %d", c.first)
	}
	require.Zero(t, a.mesh.links[0].prints.next, "and what waits is not taken for the first")
}

func TestAFalseAcknowledgementOfFingerprintsIsRefused(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	b.publish(1)
	m.turns(2)
	a.fingerprint()
	for _, c := range []struct{ next, acked, refused uint64 }{{2, 0, 1}, {uint64(wire.MaxTick), 0, 2}, {1, 1, 2}, {0, 1, 2}} {
		a.forge(b, wire.Packet{SumAck: wire.SumAck{Set: true, Next: c.next}})
		a.mesh.Poll(m.now)
		require.Equal(t, c.acked, a.mesh.links[0].prints.acked)
		require.Equal(t, c.refused, a.mesh.Refused()[BadAck])
	}
}

func TestAFingerprintIsRepeatedUntilItIsAcknowledged(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	b.publish(1)
	m.turns(2)
	a.fingerprint()
	a.log, a.lose = nil, everything
	sums := func() (n int) {
		for _, p := range a.packets() {
			if len(p.Sums.List) > 0 {
				require.Equal(t, wire.Sums{List: []uint64{1}}, p.Sums)
				n++
			}
		}
		return n
	}
	m.turns(20) // of 16 ms: at once, then every 64, which is the first turn after sumsAgain
	require.Equal(t, 5, sums())
	a.lose = nil
	m.turns(6)
	require.NotZero(t, sums())
	m.turns(20)
	require.Zero(t, sums(), "it has been acknowledged")
}

func TestAFingerprintIsNotRepeatedWithinTheRoundTrip(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	b.publish(1)
	m.turns(2)
	meter := &a.mesh.links[0].meter
	meter.roundTrip, meter.jitter = 140*time.Millisecond, 10*time.Millisecond
	a.fingerprint()
	a.log, a.lose, b.lose = nil, everything, everything
	m.turns(20) // at once, then in the first turn after 160 ms
	sent := 0
	for _, p := range a.packets() {
		sent += len(p.Sums.List)
	}
	require.Equal(t, 2, sent)
}

func TestDueAndRootNameMultiplesOfTheInterval(t *testing.T) {
	m := comparing(t, 5, 10)
	a := m.seats[0]
	due, ok := a.mesh.Due()
	require.True(t, ok)
	require.EqualValues(t, 5, due)
	require.Error(t, a.mesh.Fingerprint(4, 1))
	require.Error(t, a.mesh.Fingerprint(10, 1), "none is left out")
	require.NoError(t, a.mesh.Fingerprint(5, 55))
	require.Error(t, a.mesh.Fingerprint(5, 55), "none is taken twice")
	require.NoError(t, a.mesh.Fingerprint(10, 66))
	for tick, want := range map[driftback.Tick]uint64{5: 55, 10: 66, 0: 0, 15: 0, 7: 0, -5: 0} {
		sum, ok := a.mesh.Root(tick)
		require.Equal(t, want != 0, ok, "tick %d", tick)
		require.Equal(t, want, sum)
	}
	for i := driftback.Tick(3); i <= MaxUncompared; i++ {
		require.NoError(t, a.mesh.Fingerprint(5*i, uint64(i)))
	}
	_, ok = a.mesh.Due()
	require.False(t, ok, "as many wait as may")
	require.True(t, a.mesh.Blocked())
	require.EqualError(t, a.mesh.Fingerprint(5*(MaxUncompared+1), 1), "mesh: the fingerprint of tick 325 is not due")
}

func TestARootIsKeptForTheHistory(t *testing.T) {
	m := newMatch(t, 1, func(c *Config) { c.FingerprintEvery, c.History = 2, 400 })
	a := m.seats[0]
	m.turn()
	for i := driftback.Tick(1); i <= 201; i++ {
		require.NoError(t, a.mesh.Fingerprint(2*i, uint64(i)), "alone, nobody has to agree")
	}
	_, ok := a.mesh.Root(2)
	require.False(t, ok)
	sum, ok := a.mesh.Root(4)
	require.True(t, ok)
	require.EqualValues(t, 2, sum)
}

func TestWithoutFingerprintsNothingIsDueOrCompared(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	_, ok := a.mesh.Due()
	require.False(t, ok)
	require.Error(t, a.mesh.Fingerprint(1, 1))
	a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{1}}, SumAck: wire.SumAck{Set: true, Next: 7}})
	a.mesh.Poll(m.now)
	_, ok = a.mesh.Root(1)
	require.False(t, ok)
	require.False(t, a.mesh.Blocked())
	require.Zero(t, a.mesh.Agreed())
	require.NoError(t, a.mesh.Err())
}
