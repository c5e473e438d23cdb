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

// fighting returns a match whose first round has begun: before that bots do nothing.
func fighting() sim.State {
	state := sim.New(1)
	var pass driftback.Pass
	for tick := driftback.Tick(0); state.Phase != sim.Fight; tick++ {
		pass.Begin(tick, nil)
		sim.Step(&state, make([]sim.Input, sim.Sides), &pass)
	}
	return state
}

func TestTheBotDecidesOncePerTickThatRuns(t *testing.T) {
	state := fighting()
	stalled, smooth := newHands(0, 5), newHands(0, 5)
	decisions := map[sim.Input]bool{}
	for range 200 {
		first := stalled.next(&state)
		decisions[first] = true
		require.Equal(t, first, stalled.next(&state), "a call that stalled decides nothing")
		require.Equal(t, first, smooth.next(&state))
		stalled.used()
		smooth.used()
	}
	require.Greater(t, len(decisions), 3, "the control: it decides")
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
	state := sim.New(1)
	h.take(&command{HasButtons: true, Buttons: sim.Left})
	require.Equal(t, sim.Input{Buttons: sim.Left}, h.next(&state), "what was pressed before is not pressed now")
	h.take(&command{HasButtons: true, Buttons: 0xffff, Pressed: 0xffff})
	require.True(t, h.next(&state).Valid(), "no button that does not exist goes out")
}

func TestATapAloneTakesTheSideFromTheBot(t *testing.T) {
	h := newHands(0, 1)
	h.take(&command{HasButtons: true, Pressed: sim.Heavy})
	state := sim.New(1)
	require.Equal(t, sim.Input{Buttons: sim.Heavy}, h.next(&state))
	h.take(&command{HasButtons: true, Pressed: sim.Up})
	require.Equal(t, sim.Input{Buttons: sim.Heavy | sim.Up}, h.next(&state), "two taps within one tick are both used")
}

func TestTheTwoBotsOfAMatchAreNotAlike(t *testing.T) {
	state := fighting()
	left, right := newHands(0, 5), newHands(1, 5)
	right.side = 0 // what differs is not where they stand
	differ := 0
	for range 200 {
		if left.next(&state) != right.next(&state) {
			differ++
		}
		left.used()
		right.used()
	}
	require.Positive(t, differ)
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
