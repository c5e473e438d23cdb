package mesh

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// enteredAt is the script's entry: some on most ticks that are near others, or on all.
func enteredAt(p driftback.Participant, t driftback.Tick, dense bool) wire.Entry {
	x := uint64(t+1)*0x9e3779b97f4a7c15 + uint64(p)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	if !dense && x>>60 > 2 {
		return 0
	}
	return wire.Entry(x>>32)%wire.MaxEntry + 1
}

// publishEntered publishes the script's next input of every participant of the seat, with
// its entry.
func (s *seat) publishEntered(dense bool) {
	s.match.t.Helper()
	for _, p := range s.mesh.own {
		t := s.mesh.Held(p)
		require.NoError(s.match.t, s.mesh.PublishEntry(p, t, scripted(p, t, s.config.Stride), enteredAt(p, t, dense)))
	}
}

// strayEntries counts the inputs that the seat holds with another entry than the script's.
func (s *seat) strayEntries(from []driftback.Tick, dense bool) (stray int) {
	for p := range s.config.Players {
		p := driftback.Participant(p)
		for held := s.mesh.Held(p); from[p] < held; from[p]++ {
			if s.mesh.Entry(p, from[p]) != enteredAt(p, from[p], dense) {
				stray++
			}
		}
	}
	return stray
}

// TestAnInputIsHeldWithItsEntryAndNeverWithout: runs are split, lost, repeated and come out
// of order, and whatever a peer holds it holds with the entry that was given.
func TestAnInputIsHeldWithItsEntryAndNeverWithout(t *testing.T) {
	split, lost := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		dense := rapid.Bool().Draw(t, "an entry on every tick")
		players := rapid.SampledFrom([][]driftback.Peer{{0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {1, 0, 0, 0}}).Draw(t, "players")
		m := newMatch(t, int(max(players[0], players[1], players[len(players)-1]))+1, func(c *Config) {
			c.Players, c.Window, c.Redundancy = players, 60, rapid.IntRange(0, 9).Draw(t, "redundancy")
			c.PeerTimeout = None
		})
		for _, s := range m.seats {
			s.room = s.config.leastDatagram() + rapid.IntRange(0, 40).Draw(t, "room beside the least")
		}
		m.begin()
		loss := rapid.IntRange(0, 60).Draw(t, "loss")
		random := rapid.Uint64().Draw(t, "seed")
		from := make([][]driftback.Tick, len(m.seats))
		for i, s := range m.seats {
			from[i] = make([]driftback.Tick, len(players))
			s.log = nil
			s.lose = func(*seat, *wire.Packet) bool {
				random = random*6364136223846793005 + 1442695040888963407
				gone := int(random>>33%100) < loss
				if gone {
					lost++
				}
				return gone
			}
		}
		look := func() {
			m.turn()
			for i, s := range m.seats {
				require.NoError(t, s.mesh.Err())
				require.Zero(t, s.strayEntries(from[i], dense), "peer %d", s.self)
				perPeer := map[driftback.Peer]int{}
				for _, p := range s.log {
					perPeer[p.to]++
				}
				for _, n := range perPeer {
					if n > 1 {
						split++
					}
				}
				s.log = nil
			}
		}
		for range rapid.IntRange(10, 80).Draw(t, "ticks") {
			for _, s := range m.seats {
				if s.mesh.Held(s.mesh.own[0]) < s.mesh.Confirmed()+60 {
					s.publishEntered(dense)
				}
			}
			look()
		}
		for _, s := range m.seats {
			s.lose = nil
		}
		for range 40 {
			look()
		}
		for _, s := range m.seats {
			for p := range players {
				require.Equal(t, m.seats[players[p]].mesh.Held(driftback.Participant(p)), s.mesh.Held(driftback.Participant(p)),
					"peer %d holds all of participant %d", s.self, p)
			}
		}
	})
	require.Greater(t, split, 100, "rounds of several packets")
	require.Greater(t, lost, 100, "packets lost")
}

// TestAnEntryThatIsLeftOutOfASplitRunIsNoticed: the fault that the test above is to find.
func TestAnEntryThatIsLeftOutOfASplitRunIsNoticed(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.room = a.config.leastDatagram()
	from := make([]driftback.Tick, 2)
	for range 12 {
		a.publishEntered(true)
		b.publishEntered(true)
	}
	a.lose = everything
	m.turns(2)
	a.lose = func(_ *seat, p *wire.Packet) bool {
		for i := range p.Runs {
			p.Runs[i].Entries = nil
		}
		b.forge(a, wire.Packet{Runs: p.Runs})
		return true
	}
	m.turns(4)
	require.Greater(t, len(a.log), 4, "the run was split")
	require.EqualValues(t, 12, b.mesh.Held(0))
	require.Equal(t, 12, b.strayEntries(from, true))
}

func TestADifferentEntryForATickIsEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		first, then wire.Entry
		want        string
	}{
		"a pause where there was none":  {0, wire.EntryPause, "with entry none, then"},
		"none where there was a pause":  {wire.EntryPause, 0, "with entry pause, then"},
		"a resume instead of a pause":   {wire.EntryPause, wire.EntryResume, "with entry resume"},
		"another speed":                 {wire.EntrySpeed(4), wire.EntrySpeed(5), "with entry speed 4/8, then"},
		"the same again is no evidence": {wire.EntryPause, wire.EntryPause, ""},
	} {
		for _, at := range []driftback.Tick{5, 7} { // the next, and one that overtakes others
			t.Run(name, func(t *testing.T) {
				m := played(t, 3, 5, nil)
				a, b := m.seats[0], m.seats[1]
				send := func(e wire.Entry) {
					r := of(1, at, 1)
					r.Entries = []byte{byte(e)}
					a.forge(b, wire.Packet{Runs: []wire.Run{r}})
					a.turn()
				}
				send(c.first)
				require.NoError(t, a.mesh.Err())
				send(c.then)
				if c.want == "" {
					require.NoError(t, a.mesh.Err())
					return
				}
				var conflict *ConflictError
				require.ErrorAs(t, a.mesh.Err(), &conflict)
				in := scripted(1, at, 2)
				require.Equal(t, &ConflictError{Peer: 1, Participant: 1, Tick: at, Had: in, Got: in, HadEntry: c.first, GotEntry: c.then}, conflict)
				require.ErrorContains(t, conflict, "peer 1 sent two inputs of participant 1 for tick")
				require.ErrorContains(t, conflict, c.want)
				m.seats[2].turn()
				require.ErrorIs(t, m.seats[2].mesh.Err(), ErrHalted)
				require.ErrorContains(t, m.seats[2].mesh.Err(), "sent two inputs", "the others are told what was found")
			})
		}
	}
}

func TestAnEntryThatItsParticipantMayNotGiveIsRefusedWithItsInput(t *testing.T) {
	m := played(t, 2, 5, func(c *Config) {
		c.ValidEntry = func(p driftback.Participant, e wire.Entry) bool { return p == 0 && e != wire.EntryResume }
	})
	a, b := m.seats[0], m.seats[1]
	r := of(1, 5, 3)
	r.Entries = []byte{0, byte(wire.EntryPause), 0}
	a.forge(b, wire.Packet{Runs: []wire.Run{r}})
	a.turn()
	require.EqualValues(t, 6, a.mesh.Held(1), "what comes before it is taken, and what comes after it is not")
	require.EqualValues(t, 1, a.mesh.Refused()[BadInput])
	require.NoError(t, a.mesh.Err())
	r.Entries = nil
	a.forge(b, wire.Packet{Runs: []wire.Run{r}})
	a.turn()
	require.EqualValues(t, 8, a.mesh.Held(1), "the control: without the entry they are taken")
}

func TestAnEntryIsForgottenWithItsInput(t *testing.T) {
	h := newHistory(1, 4)
	for i := range driftback.Tick(4) {
		h.append([]byte{byte(i)})
		h.enter(i, wire.Entry(i%2))
	}
	require.True(t, h.contradicts(3, []byte{3}, 0))
	for i := range byte(3) {
		h.append([]byte{i})
	}
	_, entries := h.flattenEntries(nil, 3, 7)
	require.Equal(t, []byte{1, 0, 0, 0}, entries)
	h.append([]byte{9})
	all, entries := h.flattenEntries([]byte{7}, 4, 8)
	require.Equal(t, []byte{7}, all)
	require.Empty(t, entries)
}

func TestAnEntryThatThereIsNotIsNotPublished(t *testing.T) {
	a := playing(t, 2, nil).seats[0]
	require.EqualError(t, a.mesh.PublishEntry(0, 0, []byte{1, 2}, wire.MaxEntry+1), "mesh: an entry of 35 for tick 0, and the largest is 34")
	require.ErrorContains(t, a.mesh.PublishEntry(0, 1, []byte{1, 2}, wire.EntryPause), "its next is for tick 0")
	require.NoError(t, a.mesh.PublishEntry(0, 0, []byte{1, 2}, wire.MaxEntry))
	require.Equal(t, wire.MaxEntry, a.mesh.Entry(0, 0))
}
