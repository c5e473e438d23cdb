package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// ready returns a table of n of whom the last was cut and has applied, when all but it know
// that of each other and nobody has led yet: the first is held back from that.
func ready(t *testing.T, n int) *table {
	t.Helper()
	tb := gone(t, n, nil)
	j := tb.players[n-1]
	tb.back(n - 1)
	tb.players[0].apart = map[driftback.Peer]bool{}
	for _, p := range tb.players[1 : n-1] {
		tb.players[0].apart[p.self], p.apart = true, map[driftback.Peer]bool{0: true}
	}
	tb.until("it has applied", func() bool {
		return tb.players[1].mesh.letsIn().Has(j.self) && tb.players[n-2].mesh.letsIn().Has(j.self)
	})
	return tb
}

func downOf(p *player) transport.Message {
	return transport.Message{Kind: transport.Down, From: p.self}
}

func TestWhoPromisesToLetSomebodyInGoesOnForAWhile(t *testing.T) {
	tb := ready(t, 4)
	b := tb.players[1]
	for _, p := range tb.players[1:] {
		p.apart = nil
	}
	m := b.mesh
	value := func(at driftback.Tick) wire.Value {
		return wire.Value{Joins: []wire.Join{{Peer: 3, Tick: at, Nonce: tb.players[3].config.Nonce, Delays: []wire.Delay{{Participant: 3, Ticks: 2}}}}}
	}
	require.False(t, m.accept(0x500, value(m.newest()+joinMargin)), "it has promised nothing")
	m.receivePrepare(m.linkTo(0), wire.Prepare{View: 2, Ballot: 0x500, Joins: 8})
	limit := m.views.caps[3]
	require.Equal(t, m.newest()+joinMargin, limit)
	answer := m.answer()
	require.Equal(t, []wire.Cut{{Participant: 3, Tick: limit}}, answer.Held)
	require.True(t, m.waits())

	goOn := func(by driftback.Tick) {
		for q, h := range []*history{&m.histories[0], &m.histories[1], &m.histories[2]} {
			for to := m.newest() + by; h.held < to; {
				h.append(scripted(driftback.Participant(q), h.held, 2))
			}
			by = 0
		}
		m.fill()
	}
	goOn(10)
	m.receivePrepare(m.linkTo(0), wire.Prepare{View: 2, Ballot: 0x600, Joins: 8})
	require.Equal(t, limit, m.views.caps[3], "a later promise does not move it")
	m.takeBack()
	require.Equal(t, limit, m.views.caps[3], "nor does one that was taken back")
	m.receivePrepare(m.linkTo(0), wire.Prepare{View: 2, Ballot: 0x700})
	require.Equal(t, limit, m.views.caps[3], "nor one that lets nobody in")

	// It goes on up to there, and not beyond, whatever the others do.
	goOn(80)
	require.Equal(t, limit, m.Confirmed())

	// What would let it in below that is refused, and what does above is not.
	low, high := value(limit-1), value(limit+3)
	require.Empty(t, m.ill(&low))
	require.False(t, m.accept(0x700, low))
	require.True(t, m.accept(0x700, high))
	require.Equal(t, limit, m.Confirmed(), "not before it is decided")
	m.install(high, 0)
	require.Equal(t, limit+3, m.Held(3))
	require.Equal(t, limit+3, m.Confirmed(), "then its own inputs are waited for")
	require.False(t, m.views.capped())
	require.Equal(t, driftback.Replaced, m.Status(3, limit+2))
	require.Equal(t, driftback.Playing, m.Status(3, limit+3))
}

func TestNobodyIsLetInWhomAMemberDoesNotKnow(t *testing.T) {
	tb := ready(t, 4)
	m := tb.players[1].mesh
	join := wire.Join{Peer: 3, Tick: m.newest() + 60, Nonce: tb.players[3].config.Nonce, Delays: []wire.Delay{{Participant: 3, Ticks: 2}}}
	cut, _ := m.Cut(3)
	for name, c := range map[string]struct {
		value wire.Value
		why   string
	}{
		"a peer the match does not have": {wire.Value{Joins: []wire.Join{{Peer: 9, Tick: join.Tick}}}, "does not have"},
		"a member":                       {wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: cut}}, Joins: []wire.Join{{Peer: 2, Tick: join.Tick}}}, "or that is in"},
		"with no delays":                 {wire.Value{Joins: []wire.Join{{Peer: 3, Tick: join.Tick}}}, "delays of others"},
		"before it was cut":              {wire.Value{Joins: []wire.Join{{Peer: 3, Tick: cut - 1, Delays: join.Delays}}}, "before it was cut"},
		"at a tick far away":             {wire.Value{Joins: []wire.Join{{Peer: 3, Tick: join.Tick + 1000, Delays: join.Delays}}}, "nobody can have reached"},
		"and cuts it":                    {wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: cut}}, Joins: []wire.Join{join}}, "cuts it"},
		"without a majority of the members": {wire.Value{
			Cuts: []wire.Cut{{Participant: 0, Tick: m.newest()}, {Participant: 2, Tick: m.newest()}}, Joins: []wire.Join{join},
		}, "no majority"},
	} {
		require.Contains(t, m.ill(&c.value), c.why, name)
	}
	one := wire.Value{Joins: []wire.Join{join}}
	require.Empty(t, m.ill(&one))

	// A member that does not know it promises nothing.
	m.linkTo(3).view.apply = nil
	m.receivePrepare(m.linkTo(0), wire.Prepare{View: 2, Ballot: 0x500, Joins: 8})
	require.Zero(t, m.views.promised&^0xff)
	require.False(t, m.views.capped())
	m.receivePrepare(m.linkTo(0), wire.Prepare{View: 2, Ballot: 0x500, Joins: 4})
	require.EqualValues(t, 1, m.Refused()[BadVote], "nor to let in a member")
}

func TestWhoeverWaitsForAViewGetsOne(t *testing.T) {
	tb := ready(t, 4)
	j := tb.players[3]
	// The second has promised one who does not lead and never goes on, and the one who
	// wanted to come in is gone.
	b := tb.players[1].mesh
	b.receivePrepare(b.linkTo(2), wire.Prepare{View: 2, Ballot: 0x502, Joins: 8})
	require.True(t, b.views.capped())
	tb.crash(3)
	for _, p := range tb.players[:3] {
		p.inbox = append(p.inbox, downOf(j))
		p.apart = nil
	}
	tb.until("a view is decided", func() bool { return b.View() == 2 })
	require.False(t, b.views.capped())
	before := b.Confirmed()
	tb.turns(100)
	require.Greater(t, b.Confirmed(), before+80)
	require.False(t, b.Member(3))
}

func TestWhatTheLastOtherMayHaveDecidedIsNotUndone(t *testing.T) {
	tb := ready(t, 3)
	a, b := tb.players[1].mesh, tb.players[0]
	a.linkTo(0).view.ready = 4
	a.receivePrepare(a.linkTo(0), wire.Prepare{View: 2, Ballot: 0x500, Joins: 4})
	value := wire.Value{Joins: []wire.Join{{Peer: 2, Tick: a.views.caps[2] + 1, Nonce: tb.players[2].config.Nonce, Delays: []wire.Delay{{Participant: 2, Ticks: 2}}}}}
	a.receivePropose(a.linkTo(0), wire.Propose{View: 2, Ballot: 0x500, Value: value})
	require.NotZero(t, a.views.acceptedIn)
	tb.crash(0)
	for _, p := range tb.players {
		p.apart = nil
	}
	tb.back(0) // and has lost what it had decided, and may have told the third
	tb.until("the first is cut", func() bool { return a.View() >= 3 })
	require.True(t, same(&value, &a.views.decided[1]))
	require.True(t, a.Member(2))
	require.False(t, a.Member(b.self))
	tb.until("it is back", func() bool { return b.mesh != nil && tb.players[2].mesh != nil })
	tb.settled(a.View())
}

func TestBothOfTwoComeBackOneSoonAfterTheOther(t *testing.T) {
	tb := newTable(t, 2, func(c *Config) { c.RejoinGrace = time.Hour })
	tb.turns(20)
	for i := range 2 { // the second time far ahead: from where it would have played the first
		tb.crash(0)
		tb.turns(2)
		tb.back(0)
		tb.until("it is let in", func() bool { return tb.players[1].mesh.View() == 2*i+2 })
	}
	tb.until("it is let in", func() bool { return tb.players[0].mesh != nil })
	require.Greater(t, tb.players[0].mesh.From(), tb.players[0].mesh.Confirmed()+60)
	tb.crash(1)
	tb.turns(2)
	tb.back(1)
	tb.until("the other is let in", func() bool { return tb.players[1].mesh != nil })
	require.Less(t, tb.players[1].mesh.From(), tb.players[0].mesh.From())
	tb.turns(300)
	tb.settled(tb.players[0].mesh.View())
}
