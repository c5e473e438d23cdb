package mesh

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// of returns the script's inputs of a participant for n ticks.
func of(p driftback.Participant, first driftback.Tick, n int) wire.Run {
	r := wire.Run{Participant: p, First: first, Count: n}
	for i := range n {
		r.Inputs = append(r.Inputs, scripted(p, first+driftback.Tick(i), 2)...)
	}
	return r
}

func TestWhatBecomesOfARun(t *testing.T) {
	span := driftback.Tick(2*(8+MaxDelay) + 1)
	for name, c := range map[string]struct {
		run     wire.Run
		held    driftback.Tick // of participant 1, after it
		refused Refusal
		counted bool
	}{
		"the next":                         {of(1, 5, 1), 6, 0, false},
		"the next few":                     {of(1, 5, 7), 12, 0, false},
		"old ones again":                   {of(1, 0, 5), 5, 0, false},
		"old ones and the next":            {of(1, 0, 6), 6, 0, false},
		"one that has overtaken another":   {of(1, 6, 1), 5, 0, false},
		"one of this peer's own":           {of(0, 5, 1), 5, NotOwner, true},
		"one of a third peer's":            {of(2, 5, 1), 5, NotOwner, true},
		"one of nobody's":                  {of(9, 5, 1), 5, NotOwner, true},
		"as far ahead as may be":           {of(1, 5, int(span)), 5 + span, 0, false},
		"one further":                      {of(1, 5, int(span)+1), 5 + span, FarAhead, true},
		"the longest run":                  {of(1, 0, wire.MaxRunTicks), 5 + span, FarAhead, true},
		"one at the end of time":           {of(1, wire.MaxTick-1, 1), 5, FarAhead, true},
		"one that the game does not know":  {wire.Run{Participant: 1, First: 5, Count: 1, Inputs: []byte{0xee, 0xee}}, 5, BadInput, true},
		"two, of which it knows the first": {wire.Run{Participant: 1, First: 5, Count: 2, Inputs: append(scripted(1, 5, 2), 0xee, 0xee)}, 6, BadInput, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 3, 5, func(c *Config) {
				c.Valid = func(in []byte) bool { return in[0] != 0xee || in[1] != 0xee }
			})
			a, b := m.seats[0], m.seats[1]
			before := a.mesh.Refused()
			a.forge(b, wire.Packet{Runs: []wire.Run{c.run}})
			m.now += idleBeat
			a.turn()
			require.Equal(t, c.held, a.mesh.Held(1))
			require.EqualValues(t, 5, a.mesh.Held(0))
			require.EqualValues(t, 5, a.mesh.Held(2))
			require.NoError(t, a.mesh.Err())
			if c.counted {
				before[c.refused]++
			}
			require.Equal(t, before, a.mesh.Refused())
			require.LessOrEqual(t, a.packets()[0].Acks[0].Next, c.held, "what was refused is not acknowledged")
		})
	}
}

func TestADifferentInputForATickIsEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		run  wire.Run
		tick driftback.Tick
	}{
		"the newest":                    {wire.Run{Participant: 1, First: 4, Count: 1, Inputs: []byte{9, 9}}, 4},
		"one before the next":           {wire.Run{Participant: 1, First: 4, Count: 2, Inputs: []byte{9, 9, 1, 1}}, 4},
		"the second of those held":      {wire.Run{Participant: 1, First: 0, Count: 2, Inputs: append(scripted(1, 0, 2), 9, 9)}, 1},
		"twice the next, in one packet": {wire.Run{}, 5},
		"one that has overtaken others": {wire.Run{}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 3, 5, nil)
			a, b := m.seats[0], m.seats[1]
			if c.run.Count == 0 {
				a.forge(b, wire.Packet{Runs: []wire.Run{of(1, c.tick, 1)}})
				c.run = wire.Run{Participant: 1, First: c.tick, Count: 1, Inputs: []byte{9, 9}}
			}
			a.forge(b, wire.Packet{Runs: []wire.Run{c.run}})
			a.turn()
			var conflict *ConflictError
			require.ErrorAs(t, a.mesh.Err(), &conflict)
			require.Equal(t, &ConflictError{Peer: 1, Participant: 1, Tick: c.tick, Had: scripted(1, c.tick, 2), Got: []byte{9, 9}}, conflict)
			require.ErrorContains(t, conflict, "peer 1 sent two inputs of participant 1 for tick")
			m.seats[2].turn()
			require.ErrorIs(t, m.seats[2].mesh.Err(), ErrHalted)
			require.ErrorContains(t, m.seats[2].mesh.Err(), "then 0909", "the others are told what was found")
		})
	}
}

func TestInputsThatHaveOvertakenOthersWaitForThem(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	for _, c := range []struct {
		run  wire.Run
		held driftback.Tick
	}{
		{of(1, 8, 2), 5}, {of(1, 12, 1), 5}, {of(1, 8, 2), 5}, {of(1, 6, 1), 5},
		{of(1, 5, 1), 7}, {of(1, 7, 1), 10}, {of(1, 9, 5), 14},
	} {
		a.forge(b, wire.Packet{Runs: []wire.Run{c.run}})
		m.now += idleBeat
		a.turn()
		require.NoError(t, a.mesh.Err())
		require.Equal(t, c.held, a.mesh.Held(1), "after %d ticks from %d", c.run.Count, c.run.First)
		sent := a.packets()
		require.Equal(t, c.held, sent[len(sent)-1].Acks[0].Next, "what waits is not acknowledged")
	}
	for tick := range driftback.Tick(14) {
		require.Equal(t, scripted(1, tick, 2), a.mesh.Input(1, tick))
	}
}

func TestAnInputFarAheadContradictsNothing(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 7, 1)}})
	far := 7 + driftback.Tick(a.mesh.Kept()) // the same place in the ring
	a.forge(b, wire.Packet{Runs: []wire.Run{{Participant: 1, First: far, Count: 1, Inputs: []byte{9, 9}}}})
	a.turn()
	require.NoError(t, a.mesh.Err())
	require.EqualValues(t, 1, a.mesh.Refused()[FarAhead])
}

func TestAnInputThatIsNoLongerKeptCannotBeContradicted(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	m.goOn(2 * a.mesh.Kept())
	require.Greater(t, a.mesh.histories[1].oldest(), driftback.Tick(0))
	a.forge(b, wire.Packet{Runs: []wire.Run{{Participant: 1, First: 0, Count: 1, Inputs: []byte{9, 9}}}})
	a.turn()
	require.NoError(t, a.mesh.Err())
}

func TestWhatBecomesOfAnAcknowledgement(t *testing.T) {
	for name, c := range map[string]struct {
		ack     wire.Ack
		acked   driftback.Tick
		refused bool
	}{
		"of all that was published":     {wire.Ack{Participant: 0, Next: 8}, 8, false},
		"of some of it":                 {wire.Ack{Participant: 0, Next: 7}, 7, false},
		"of what was acknowledged":      {wire.Ack{Participant: 0, Next: 5}, 5, false},
		"an old one":                    {wire.Ack{Participant: 0, Next: 1}, 5, false},
		"of one that was not published": {wire.Ack{Participant: 0, Next: 9}, 5, true},
		"of all there could ever be":    {wire.Ack{Participant: 0, Next: wire.MaxTick}, 5, true},
		"of the peer's own inputs":      {wire.Ack{Participant: 1, Next: 5}, 5, true},
		"of a participant of nobody's":  {wire.Ack{Participant: 9, Next: 5}, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 2, 5, nil)
			a, b := m.seats[0], m.seats[1]
			a.publish(3)
			a.forge(b, wire.Packet{Acks: []wire.Ack{c.ack}})
			a.turn()
			require.Equal(t, c.acked, a.mesh.links[0].acked[0])
			require.Equal(t, c.refused, a.mesh.Refused()[BadAck] == 1)
			s, _ := a.mesh.Link(1)
			require.EqualValues(t, 8-c.acked, s.Unacknowledged)
		})
	}
}

func TestOldInputsAreAcknowledgedAgain(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 0, 5)}})
	m.turns(2)
	require.Equal(t, []wire.Ack{{Participant: 1, Next: 5}}, a.packets()[0].Acks)
}

func TestAFloodIsHandledAPartAtATime(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.inbox = nil
	for range 3 * maxDrain {
		a.forge(b, wire.Packet{})
	}
	for left := 2; left >= 0; left-- {
		a.mesh.Poll(m.now)
		require.Equal(t, left*maxDrain, len(a.inbox))
	}
}

func TestPacketsOfOthersAreRefused(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	good := wire.Packet{Tag: a.mesh.tag, Runs: []wire.Run{of(1, 0, 1)}}
	bytesOf := func(p wire.Packet) []byte {
		b, err := p.Append(nil, 2)
		require.NoError(t, err)
		return b
	}
	other := good
	other.Tag++
	for name, c := range map[string]struct {
		from    driftback.Peer
		data    []byte
		refused Refusal
	}{
		"a stranger's":           {9, bytesOf(good), Stranger},
		"this peer's own number": {0, bytesOf(good), Stranger},
		"one beyond all peers":   {255, bytesOf(good), Stranger},
		"another match's":        {1, bytesOf(other), OtherMatch},
		"bytes":                  {1, []byte("hello there"), Malformed},
		"nothing":                {1, nil, Malformed},
		"one that is cut short":  {1, bytesOf(good)[:8], Malformed},
		"a longer one":           {1, append(bytesOf(good), 0), Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			before := a.mesh.Refused()
			silence := a.mesh.links[0].silence
			a.inbox = append(a.inbox, transport.Message{Kind: transport.Datagram, From: c.from, Data: c.data})
			a.mesh.Poll(m.now)
			before[c.refused]++
			require.Equal(t, before, a.mesh.Refused())
			require.Zero(t, a.mesh.Held(1))
			require.Equal(t, silence, a.mesh.links[0].silence, "it is no sign of life")
		})
	}
	a.forge(b, good)
	a.mesh.Poll(m.now)
	require.EqualValues(t, 1, a.mesh.Held(1), "the control: it is taken from whom it belongs to")
}

func TestEveryRefusalAndEventHasAName(t *testing.T) {
	seen := map[string]bool{"unknown refusal": true}
	for r := range Refusals {
		require.False(t, seen[Refusal(r).String()], "%d", r)
		seen[Refusal(r).String()] = true
	}
	require.Equal(t, "unknown refusal", Refusal(Refusals).String())
	require.Equal(t, "unknown event", EventKind(0).String())
	for k := range eventKinds[1:] {
		name := EventKind(k + 1).String()
		require.NotEmpty(t, name, "%d", k+1)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Equal(t, "unknown event", EventKind(len(eventKinds)).String())
	require.Equal(t, "joining agreeing playing ended unknown phase",
		Joining.String()+" "+Agreeing.String()+" "+Playing.String()+" "+Ended.String()+" "+Phase(9).String())
}

// jump puts a match that plays at a tick that would take years to reach.
func (m *match) jump(t driftback.Tick) {
	for _, s := range m.seats {
		for p := range s.mesh.histories {
			s.mesh.histories[p].held = t
			s.read[p] = t
		}
		for i := range s.mesh.links {
			for j := range s.mesh.links[i].acked {
				s.mesh.links[i].acked[j], s.mesh.links[i].told[j] = t, t
			}
		}
	}
}

func TestAMatchGoesOnBeyondTwoToThe31Ticks(t *testing.T) {
	for _, start := range []driftback.Tick{math.MaxInt32 - 20, math.MaxUint32 - 20, 1 << 33, 1<<40 - 20, 1<<53 - 20} {
		m := playing(t, 2, func(c *Config) { c.Redundancy = 3 })
		m.jump(start)
		a, b := m.seats[0], m.seats[1]
		lost := 0
		b.lose = func(*seat, *wire.Packet) bool { lost++; return lost%3 == 0 }
		m.goOn(60)
		require.NoError(t, a.mesh.Err())
		require.NoError(t, b.mesh.Err())
		require.Greater(t, a.mesh.Confirmed(), start+40)
		require.Greater(t, lost, 20)
	}
}

func TestAMatchThatReachesTheLastTickRefusesToGoOn(t *testing.T) {
	m := playing(t, 2, nil)
	m.jump(wire.MaxTick - 4)
	a, b := m.seats[0], m.seats[1]
	for range 4 {
		a.publish(1)
		b.publish(1)
		m.turn()
	}
	m.turns(3)
	require.Equal(t, wire.MaxTick, a.mesh.Confirmed())
	require.EqualError(t, a.mesh.Publish(0, wire.MaxTick, []byte{1, 2}), "mesh: an input of participant 0 for tick 4611686018427387904, and the last tick that can be sent is 4611686018427387903")
	m.turns(20)
	require.Equal(t, Playing, a.mesh.Phase(), "%v", a.mesh.Err())
	a.mesh.Finish(wire.MaxTick, 0, false)
	b.mesh.Finish(wire.MaxTick, 0, false)
	m.turns(3)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
	require.ErrorIs(t, b.mesh.Err(), ErrFinished)
}
