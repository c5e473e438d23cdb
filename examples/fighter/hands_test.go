package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"

	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
)

func TestATapShorterThanATickIsKeptUntilATickHasUsedIt(t *testing.T) {
	state := sim.New(1)
	h := newHands(0, 1)
	h.take(&command{HasButtons: true, Buttons: sim.Left})
	h.take(&command{HasButtons: true, Buttons: 0, Pressed: sim.Heavy})
	for range 3 { // three calls of Tick that stall
		require.Equal(t, sim.Input{Buttons: sim.Heavy}, h.next(&state))
	}
	h.used()
	require.Equal(t, sim.Input{}, h.next(&state))
}

func TestTheBotDecidesOncePerTickThatRuns(t *testing.T) {
	state := sim.New(1)
	stalled, smooth := newHands(0, 5), newHands(0, 5)
	for range 200 {
		first := stalled.next(&state)
		require.Equal(t, first, stalled.next(&state), "a call that stalled decides nothing")
		require.Equal(t, first, smooth.next(&state))
		stalled.used()
		smooth.used()
	}
}

func TestTheFirstButtonTakesTheSideFromTheBotAndThePageCanGiveItBack(t *testing.T) {
	h := newHands(1, 1)
	h.take(&command{HasButtons: true})
	require.Equal(t, handsBot, h.String(), "a page that holds nothing has not been touched")
	h.take(&command{HasButtons: true, Buttons: sim.Up, Pressed: sim.Up})
	require.Equal(t, handsYou, h.String())
	h.take(&command{HasButtons: true})
	require.Equal(t, handsYou, h.String())
	h.take(&command{Bot: true})
	require.Equal(t, handsBot, h.String())
	h.take(&command{HasButtons: true, Buttons: 0xffff})
	state := sim.New(1)
	require.True(t, h.next(&state).Valid(), "no button that does not exist goes out")
}

func TestTheStripSaysWhatBecameOfEachTick(t *testing.T) {
	var s strip
	s.note(&session.Result{Phase: session.Joining})
	for tick := range int64(4) {
		s.note(&session.Result{Phase: session.Advanced, Tick: 1 + driftback.Tick(tick)})
	}
	s.note(&session.Result{Phase: session.Stalled, Tick: 4})
	s.note(&session.Result{Phase: session.Stalled, Tick: 4})
	s.note(&session.Result{Phase: session.Advanced, Tick: 5, Rerun: rewind.Span{From: 2, To: 4}})
	require.Equal(t, "ccrrssp", s.letters(4))
	require.Equal(t, "ccrrssc", s.letters(5))
	for tick := range int64(200) {
		s.note(&session.Result{Phase: session.Advanced, Tick: 6 + driftback.Tick(tick)})
	}
	require.Len(t, s.letters(0), stripTicks)
}
