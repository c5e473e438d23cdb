package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

func TestThePagesButtonsAreTheGames(t *testing.T) {
	keys, err := files.ReadFile("page/buttons.js")
	require.NoError(t, err)
	for name, button := range map[string]uint16{
		"left": sim.Left, "right": sim.Right, "up": sim.Up, "down": sim.Down,
		"light": sim.Light, "heavy": sim.Heavy, "grab": sim.Throw, "special": sim.Special,
	} {
		require.Regexp(t, `\b`+name+` = `+strconv.Itoa(int(button))+`[,;]`, string(keys))
	}
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

func TestTheTwoBotsOfAMatchAreNotAlike(t *testing.T) {
	state, g := fighting(), game()
	for side := range 2 {
		a, b, differ := g.Bot(5, driftback.Participant(side)), sim.NewBot(5+uint64(1-side)), 0
		for range 200 {
			if a(&state) != b.Input(&state, side) { // what differs is not where they stand
				differ++
			}
		}
		require.Positive(t, differ)
	}
}

func TestTheScoreIsBothSides(t *testing.T) {
	state := sim.New(1)
	state.Fighters[1].Health, state.Fighters[0].Wins = 40, 1
	require.Equal(t, "health 1000:40, rounds 1:0", score(&state))
}
