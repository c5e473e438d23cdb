package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// A land has five subsystems. What one of them holds never gets into another, so that a
// difference stays where it was planted.
type land struct {
	Clock                    [8]uint64
	North, South, East, West [16]uint64
}

func (l *land) district(i int) []uint64 {
	return [][]uint64{l.Clock[:], l.North[:], l.South[:], l.East[:], l.West[:]}[i]
}

const (
	landParts = 5
	landEvery = 4
)

func landStep(s *land, in []input, _ *driftback.Pass) {
	s.Clock[0]++
	for i := 1; i < landParts; i++ {
		d := s.district(i)
		d[s.Clock[0]%16] += uint64(in[0].Buttons)<<i + uint64(in[1].Buttons)
	}
}

// planting is the step with a bit planted in a district as a tick runs.
func planting(district int, at driftback.Tick) driftback.Step[land, input] {
	return func(s *land, in []input, pass *driftback.Pass) {
		landStep(s, in, pass)
		if pass.Tick() == at {
			s.district(district)[5] ^= 1 << 40
		}
	}
}

// lands are two peers whose fingerprints rotate, and who watches them.
type lands struct {
	t       *testing.T
	net     *loopback.Network
	configs [2]session.Config[land, input]
	peers   [2]*session.Lockstep[land, input]
	errs    [2]error
	watcher *session.Spectator[land, input]
	watched error
	hasher  *fingerprint.Hasher[land]
}

func newLands(t *testing.T, change func(c *session.Config[land, input])) *lands {
	t.Helper()
	m := &lands{t: t, net: loopback.New(77)}
	for i := range m.peers {
		self := driftback.Peer(i)
		m.configs[i] = session.Config[land, input]{
			Step: landStep, Transport: m.net.Open(self), Self: self, Players: []driftback.Peer{0, 1},
			Game: "test", Build: "1", Nonce: 1 + uint64(i), FingerprintEvery: landEvery, FingerprintRotate: true,
		}
		if change != nil {
			change(&m.configs[i])
		}
		var err error
		m.peers[i], err = session.New(m.configs[i])
		require.NoError(t, err)
	}
	for _, p := range []driftback.Peer{0, 1} {
		require.NoError(t, m.net.Impair(p, 1-p, loopback.Impairment{Latency: 40 * ms, Jitter: 10 * ms, Loss: 0.05}))
	}
	var err error
	m.hasher, err = fingerprint.New[land]()
	require.NoError(t, err)
	require.Equal(t, []string{"Clock", "North", "South", "East", "West"}, m.hasher.Subsystems())
	return m
}

func (m *lands) run(frames int) {
	for range frames {
		m.net.Advance(frame)
		for i, p := range m.peers {
			if m.errs[i] == nil {
				_, m.errs[i] = p.Tick(m.net.Now(), play(7)(i, p.Stats().Tick))
			}
		}
		if m.watcher != nil && m.watched == nil {
			_, m.watched = m.watcher.Tick(m.net.Now())
		}
	}
}

// landAt is the state as tick t begins: a plain loop over the step.
func landAt(t driftback.Tick) *land {
	var pass driftback.Pass
	s := new(land)
	for at := range t {
		landStep(s, []input{play(7)(0, at), play(7)(1, at)}, &pass)
	}
	return s
}

// requireRotating requires that a root is that of the subsystem that tick t compares.
func (m *lands) requireRotating(t driftback.Tick, root func(driftback.Tick) (fingerprint.Sum, bool)) {
	m.t.Helper()
	sum, ok := root(t)
	require.True(m.t, ok, "no fingerprint of tick %d", t)
	require.Equal(m.t, m.hasher.Row(nil, landAt(t))[t/landEvery%landParts], sum, "tick %d", t)
}

func TestFingerprintsThatRotateAreOfOneSubsystemEach(t *testing.T) {
	m := newLands(t, nil)
	m.run(600)
	rollbacks := m.peers[0].Stats().Loop.Rollbacks + m.peers[1].Stats().Loop.Rollbacks
	require.Greater(t, rollbacks, uint64(50), "guesses were wrong meanwhile")
	for i, p := range m.peers {
		require.NoError(t, m.errs[i])
		agreed := p.Stats().Agreed
		require.Greater(t, agreed, driftback.Tick(500))
		for at := driftback.Tick(landEvery); at <= agreed; at += landEvery {
			m.requireRotating(at, p.Root)
		}
	}
}

func TestADifferenceInAnySubsystemIsFoundBeforeTheyHaveComeRound(t *testing.T) {
	for district := range landParts {
		for _, planted := range []driftback.Tick{100, 107, 120} {
			t.Run(fmt.Sprint("district ", district, " at tick ", planted), func(t *testing.T) {
				m := newLands(t, func(c *session.Config[land, input]) {
					if c.Self == 1 {
						c.Step = planting(district, planted)
					}
				})
				m.run(400)
				found := (planted/landEvery + 1) * landEvery
				for int(found/landEvery%landParts) != district {
					found += landEvery
				}
				require.LessOrEqual(t, found, planted+landParts*landEvery)
				for i, p := range m.peers {
					var desync *session.DesyncError
					require.ErrorAs(t, m.errs[i], &desync, "peer %d", i)
					require.Equal(t, planted+1, desync.Tick)
					require.True(t, desync.Exact)
					require.Equal(t, found, desync.Found)
					require.Len(t, desync.Fields, 1)
					require.Equal(t, []string{"Clock[5]", "North[5]", "South[5]", "East[5]", "West[5]"}[district], desync.Fields[0].Path)
					require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Same}, desync.Repeats)
					require.Equal(t, driftback.Peer(1-i), desync.Peer)
					for at := driftback.Tick(landEvery); at < found; at += landEvery {
						m.requireRotating(at, p.Root)
					}
				}
				ours, ok := m.peers[0].Root(found)
				require.True(t, ok)
				theirs, ok := m.peers[1].Root(found)
				require.True(t, ok)
				require.NotEqual(t, ours, theirs, "it was found at another tick than %d", found)
			})
		}
	}
}

func TestTheStateThatAMatchEndsWithIsComparedWhole(t *testing.T) {
	const end = 200 // due, when the clock is compared
	for _, differs := range []bool{false, true} {
		m := newLands(t, func(c *session.Config[land, input]) {
			if c.Self == 1 && differs {
				c.Step = planting(3, end-2)
			}
		})
		for _, p := range m.peers {
			require.NoError(t, p.Finish(end))
		}
		m.run(600)
		for i := range m.peers {
			if !differs {
				require.ErrorIs(t, m.errs[i], session.ErrFinished)
				continue
			}
			var desync *session.DesyncError
			require.ErrorAs(t, m.errs[i], &desync, "peer %d", i)
		}
	}
}

func TestOneWhoWatchesIsHeldToFingerprintsThatRotate(t *testing.T) {
	for name, step := range map[string]driftback.Step[land, input]{
		"the same game":                    landStep,
		"a game that differs in one place": planting(2, 520),
	} {
		t.Run(name, func(t *testing.T) {
			m := newLands(t, func(c *session.Config[land, input]) { c.MaxWatchers, c.History = 1, 128 })
			m.run(450)
			w := session.WatchConfig[land, input]{Config: m.configs[0]}
			w.Self, w.Transport, w.Nonce, w.MaxWatchers, w.Step = 9, m.net.Open(9), 99, 0, step
			var err error
			m.watcher, err = session.Watch(w)
			require.NoError(t, err)
			m.run(300)
			require.Equal(t, [2]error{}, m.errs)
			if name != "the same game" {
				var desync *session.DesyncError
				require.ErrorAs(t, m.watched, &desync)
				require.Equal(t, driftback.Tick(2), desync.Tick/landEvery%landParts, "what differs is not compared at tick %d", desync.Tick)
				require.LessOrEqual(t, desync.Tick, driftback.Tick(520+landParts*landEvery))
				return
			}
			require.NoError(t, m.watched)
			require.Greater(t, m.watcher.Agreed(), driftback.Tick(600))
			m.requireRotating(m.watcher.Agreed(), m.watcher.Root)
			_, kept := m.watcher.Input(0, 300)
			require.False(t, kept, "it was given the match from its beginning, and not a state")
		})
	}
}

func TestPeersOfWhomOneRotatesFingerprintsDoNotMeet(t *testing.T) {
	m := newLands(t, func(c *session.Config[land, input]) { c.FingerprintRotate = c.Self == 1 })
	m.run(60)
	for i, values := range [][]string{{"4", "4, one subsystem at a time"}, {"4, one subsystem at a time", "4"}} {
		var mismatch *session.MismatchError
		require.ErrorAs(t, m.errs[i], &mismatch)
		require.Equal(t, "fingerprint interval", mismatch.Setting)
		require.Equal(t, values, []string{mismatch.Ours, mismatch.Theirs})
	}
}
