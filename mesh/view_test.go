package mesh

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// viewWords says what a message about views says.
func viewWords(c wire.Control) string {
	cuts := func(list []wire.Cut) string {
		var parts []string
		for _, c := range list {
			parts = append(parts, fmt.Sprintf("%d from %d", c.Participant, c.Tick))
		}
		return strings.Join(parts, ", ")
	}
	peers := func(s wire.Peers) string {
		var parts []string
		for p := range driftback.Peer(driftback.MaxPeers) {
			if s.Has(p) {
				parts = append(parts, fmt.Sprint(p))
			}
		}
		if parts == nil {
			return "nobody"
		}
		return strings.Join(parts, " ")
	}
	switch c := c.(type) {
	case wire.Accuse:
		return fmt.Sprintf("accuse in view %d: silent %s, left %s", c.View, peers(c.Silent), peers(c.Left))
	case wire.Prepare:
		bound := ""
		if c.Bound {
			bound = ", bound"
		}
		return fmt.Sprintf("prepare view %d, ballot %x, without %s%s", c.View, c.Ballot, peers(c.Lost), bound)
	case wire.Promise:
		text := fmt.Sprintf("promise view %d, ballot %x, lacks %s", c.View, c.Ballot, cuts(c.Held))
		if c.Accepted != nil {
			text += fmt.Sprintf("; accepted in ballot %x: without %s", c.AcceptedBallot, cuts(c.Accepted.Cuts))
		}
		return text
	case wire.Propose:
		return fmt.Sprintf("propose view %d, ballot %x: without %s", c.View, c.Ballot, cuts(c.Value.Cuts))
	case wire.Accepted:
		return fmt.Sprintf("accepted view %d, ballot %x", c.View, c.Ballot)
	case wire.Decide:
		return fmt.Sprintf("decide view %d: without %s", c.View, cuts(c.Value.Cuts))
	}
	return "?"
}

// lost returns a match of n of which one seat has vanished, when the others accuse it.
func lost(t *testing.T, n int, who driftback.Peer) *match {
	t.Helper()
	m := playing(t, n, func(c *Config) { c.PlayOn = true })
	for range 3 {
		for _, s := range m.seats {
			s.publish(1)
		}
		m.turn()
	}
	m.turns(2)
	m.seats[who].closed = true
	return m
}

func TestMessagesAboutViewsThatNoMemberWouldSendChangeNothing(t *testing.T) {
	cut := func(p driftback.Participant, t driftback.Tick) wire.Value {
		return wire.Value{Cuts: []wire.Cut{{Participant: p, Tick: t}}}
	}
	everybody := wire.Value{}
	for p := range driftback.Participant(4) {
		everybody.Cuts = append(everybody.Cuts, wire.Cut{Participant: p, Tick: 3})
	}
	for name, c := range map[string]wire.Control{
		"a proposal of one who has not asked":             wire.Propose{View: 1, Ballot: 0x101, Value: cut(3, 3)},
		"a proposal in another's name":                    wire.Propose{View: 1, Ballot: 0x102, Value: cut(3, 3)},
		"a proposal that cuts a participant there is not": wire.Propose{View: 1, Ballot: 0x101, Value: cut(9, 3)},
		"a proposal that cuts whom it is sent to":         wire.Propose{View: 1, Ballot: 0x101, Value: cut(0, 3)},
		"a proposal for a view to come":                   wire.Propose{View: wire.MaxView, Ballot: 0x101, Value: cut(3, 3)},
		"a proposal for view 0":                           wire.Propose{Ballot: 0x101, Value: cut(3, 3)},
		"a ballot of round 0":                             wire.Prepare{View: 1, Ballot: 1, Lost: 8},
		"a ballot without whom it is sent to":             wire.Prepare{View: 1, Ballot: 0x101, Lost: 1},
		"a ballot without its sender":                     wire.Prepare{View: 1, Ballot: 0x101, Lost: 2, Bound: true},
		"a ballot without a peer there is not":            wire.Prepare{View: 1, Ballot: 0x101, Lost: 1 << 40},
		"a ballot without one who is heard":               wire.Prepare{View: 1, Ballot: 0x101, Lost: 8},
		"the last ballot, without one who is heard":       wire.Prepare{View: 1, Ballot: wire.MaxBallot&^0xff | 1, Lost: 8},
		"a promise that nobody asked for":                 wire.Promise{View: 1, Ballot: 0x100, Held: cut(3, wire.MaxTick).Cuts},
		"a vote that nobody asked for":                    wire.Accepted{View: 1, Ballot: 0x100},
		"a decision at a tick that cannot be":             wire.Decide{View: 1, Value: cut(3, wire.MaxTick)},
		"a decision that leaves nobody":                   wire.Decide{View: 1, Value: everybody},
		"a decision about a participant there is not":     wire.Decide{View: 1, Value: cut(9, 3)},
		"a decision about a view to come":                 wire.Decide{View: 9, Value: cut(3, 3)},
		"an accusation of oneself":                        wire.Accuse{Silent: 2, Left: 2},
		"an accusation of peers there are not":            wire.Accuse{Silent: ^wire.Peers(0) &^ 0xf, Left: ^wire.Peers(0) &^ 0xf},
		"an accusation in a view to come":                 wire.Accuse{View: wire.MaxView, Silent: 8},
	} {
		t.Run(name, func(t *testing.T) {
			m := playing(t, 4, func(c *Config) { c.PlayOn = true })
			a, b := m.seats[0], m.seats[1]
			size := a.mesh.size()
			for range 50 {
				a.give(b, c)
			}
			m.turns(20)
			require.Zero(t, a.mesh.View())
			require.Equal(t, Playing, a.mesh.Phase())
			require.False(t, a.mesh.Blocked())
			require.Equal(t, size, a.mesh.size())
			for _, s := range m.seats {
				s.publish(2)
			}
			m.turns(3)
			for _, s := range m.seats {
				require.EqualValues(t, 2, s.mesh.Confirmed(), "play goes on")
				require.Zero(t, s.mesh.View())
			}
		})
	}
}

func TestAMemberThatLiesAboutWhatItHoldsIsNotCounted(t *testing.T) {
	m := lost(t, 4, 3)
	a, b := m.seats[0], m.seats[1]
	b.closed = true // its part is spoken below
	m.turns(55)
	b.closed = false
	for a.mesh.views.round.ballot == 0 {
		m.turn()
	}
	b.closed = true
	ballot := a.mesh.views.round.ballot
	a.give(b, wire.Promise{View: 1, Ballot: ballot, Held: []wire.Cut{{Participant: 3, Tick: wire.MaxTick}}})
	a.give(b, wire.Promise{View: 1, Ballot: ballot, Held: []wire.Cut{{Participant: 15, Tick: 1}}})
	a.give(b, wire.Promise{View: 1, Ballot: ballot, Accepted: &wire.Value{}, AcceptedBallot: wire.MaxBallot})
	refused := a.mesh.Refused()[BadVote]
	a.turn()
	require.EqualValues(t, refused+3, a.mesh.Refused()[BadVote])
	require.False(t, a.mesh.views.round.proposing)
}

func TestWithoutPlayOnAMessageAboutViewsIsRefused(t *testing.T) {
	m := playing(t, 3, nil)
	a, b := m.seats[0], m.seats[1]
	all := []wire.Control{
		wire.Accuse{}, wire.Prepare{View: 1, Ballot: 0x101, Lost: 4}, wire.Promise{View: 1}, wire.Propose{View: 1, Ballot: 0x101},
		wire.Accepted{View: 1}, wire.Decide{View: 1},
	}
	for _, c := range all {
		a.give(b, c)
	}
	a.turn()
	require.EqualValues(t, len(all), a.mesh.Refused()[BadVote])
	require.Equal(t, Playing, a.mesh.Phase())
}

func TestWhoIsLeftOutFollowsFromWhoHearsWhom(t *testing.T) {
	type link = [2]driftback.Peer
	for name, c := range map[string]struct {
		players []driftback.Peer
		dead    []link
		want    wire.Peers
	}{
		"nobody":                               {players: []driftback.Peer{0, 1, 2}},
		"the higher of two":                    {[]driftback.Peer{0, 1, 2}, []link{{1, 2}}, 0b100},
		"one that nobody hears":                {[]driftback.Peer{0, 1, 2, 3}, []link{{0, 1}, {0, 2}, {0, 3}}, 0b1},
		"two that nobody hears":                {[]driftback.Peer{0, 1, 2, 3, 4}, []link{{0, 1}, {0, 2}, {0, 3}, {4, 1}, {4, 2}, {4, 3}}, 0b10001},
		"one that most do not hear":            {[]driftback.Peer{0, 1, 2, 3}, []link{{0, 2}, {0, 3}}, 0b1},
		"whoever plays fewer":                  {[]driftback.Peer{0, 1, 2, 2}, []link{{1, 2}}, 0b10},
		"the higher of two that play the most": {[]driftback.Peer{0, 0, 1, 1, 2}, []link{{0, 1}}, 0b10},
		"a chain of four":                      {[]driftback.Peer{0, 1, 2, 3}, []link{{0, 2}, {0, 3}, {1, 3}}, 0b1100},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Mesh{cfg: Config{Players: c.players}}
			members, dead := wire.Peers(0), deadLinks{}
			for _, p := range c.players {
				members |= wire.PeersOf(p)
			}
			for _, l := range c.dead {
				dead.add(l[0], l[1])
			}
			require.Equal(t, c.want, m.without(members, &dead))
		})
	}
}

func TestWhoIsCutBeforeItPlaysEndsByName(t *testing.T) {
	for name, c := range map[string]struct {
		view   uint64
		lost   driftback.Participant
		rejoin bool
		ends   bool
	}{
		"without it":                      {1, 2, false, true},
		"without it, which may come back": {1, 2, true, true},
		"without another":                 {1, 1, false, false},
		"in a view that comes later":      {2, 2, false, false},
		"without one that is nobody":      {1, 9, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 3, func(of *Config) {
				if of.PlayOn, of.Rejoin = true, c.rejoin; c.rejoin {
					of.FingerprintEvery, of.History = 8, 32
				}
			})
			m.connect()
			late := m.seats[2]
			for late.mesh.Phase() != Agreeing {
				m.turn()
			}
			late.says(m.seats[0], wire.Decide{View: c.view, Value: wire.Value{Cuts: []wire.Cut{{Participant: c.lost}}}})
			if !c.ends {
				require.Equal(t, Agreeing, late.mesh.Phase())
				require.EqualValues(t, 1, late.mesh.Refused()[Early])
				return
			}
			require.ErrorIs(t, late.mesh.Err(), ErrCutOff, "the others wait for it no longer, and never answer it again")
			require.Equal(t, c.rejoin, errors.Is(late.mesh.Err(), ErrUnderWay), "%v", late.mesh.Err())
		})
	}
}
