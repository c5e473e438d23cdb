package mesh

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

// crowded returns the events of a Poll in which far more happens than the list holds,
// the important first, in the middle and last, and how many were dropped.
func crowded(t *testing.T) ([]Event, int) {
	t.Helper()
	m := playing(t, 3, func(c *Config) { c.RejoinGrace = time.Hour })
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	a.publish(3)
	b.publish(5)
	m.turn()
	b.lose, c.lose = everything, everything
	for !a.mesh.Blocked() {
		m.turn()
	}
	a.turn()
	flap := func() {
		for range maxEvents {
			a.up(b)
			a.down(b, "it flaps")
		}
	}
	flap()
	a.give(c, wire.Finish{At: 5})
	flap()
	a.give(c, wire.Leave{Text: "enough"})
	a.turn()
	events := slices.Clone(a.mesh.Events())
	require.LessOrEqual(t, len(events), maxEvents)
	dropped := a.mesh.EventsDropped()
	a.turn()
	require.Empty(t, a.mesh.Events(), "each Poll begins anew")
	return events, dropped
}

func important(events []Event) (kinds []EventKind) {
	for _, e := range events {
		if e.Kind != PeerUp && e.Kind != PeerDown {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

func TestAFullListOfEventsLosesRoutineOnesOnlyAndCountsThem(t *testing.T) {
	events, dropped := crowded(t)
	require.Equal(t, []EventKind{PeerResumed, PeerFinished, PeerLeft}, important(slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Peer != 2 })))
	require.Contains(t, events, Event{Kind: PeerResumed, Peer: 1, Tick: 5})
	require.Contains(t, events, Event{Kind: PeerResumed, Peer: 2})
	require.Contains(t, events, Event{Kind: PeerFinished, Peer: 2, Tick: 5})
	require.Len(t, events, maxEvents)
	require.Equal(t, 4*maxEvents+4-maxEvents, dropped, "what was lost is counted")
	last := events[len(events)-2]
	require.Equal(t, PeerDown, last.Kind, "of the routine ones the newest are kept, which say how things stand")

	// The control: were the first of them routine, it would have been lost.
	eventKinds[PeerResumed].routine = true
	defer func() { eventKinds[PeerResumed].routine = false }()
	events, _ = crowded(t)
	require.Equal(t, []EventKind{PeerFinished, PeerLeft}, important(events))
}

func TestWhatHappensBetweenAFlushAndAPollIsToldByThatPoll(t *testing.T) {
	m := playing(t, 2, nil)
	a := m.seats[0]
	a.turn()
	require.Empty(t, a.mesh.Events())
	a.mesh.note(Event{Kind: PeerFinished, Peer: 1, Tick: 9})
	a.turn()
	require.Equal(t, []Event{{Kind: PeerFinished, Peer: 1, Tick: 9}}, a.mesh.Events())
	a.turn()
	require.Empty(t, a.mesh.Events(), "once")
}

func TestTheEventsOfAMatchFromItsBeginningToItsEnd(t *testing.T) {
	m := newMatch(t, 2, func(c *Config) { c.RejoinGrace = time.Hour })
	a, b := m.seats[0], m.seats[1]
	var told []Event
	turn := func(n int) {
		for range n {
			m.turn()
			told = append(told, a.mesh.Events()...)
		}
	}
	m.connect()
	turn(10)
	b.publish(4)
	turn(2)
	b.lose = everything
	turn(70)
	b.lose = nil
	turn(2)
	a.publish(4)
	turn(2)
	b.mesh.Finish(4, 0, false)
	turn(1)
	a.mesh.Finish(4, 0, false)
	turn(2)
	b.rematch()
	b.turn()
	turn(1)
	require.Equal(t, []Event{
		{Kind: PeerUp, Peer: 1}, {Kind: PeerJoined, Peer: 1}, {Kind: PeerInterrupted, Peer: 1, Tick: 4},
		{Kind: PeerResumed, Peer: 1, Tick: 4}, {Kind: PeerFinished, Peer: 1, Tick: 4}, {Kind: PeerRematch, Peer: 1, Tick: 4},
	}, told)
}
