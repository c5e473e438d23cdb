package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/racer/sim"
)

func TestThePagesButtonsAreTheGames(t *testing.T) {
	keys, err := files.ReadFile("page/buttons.js")
	require.NoError(t, err)
	for name, button := range map[string]uint16{
		"left": sim.Left, "right": sim.Right, "throttle": sim.Throttle, "brake": sim.Brake, "slide": sim.Slide, "use": sim.Use,
	} {
		require.Regexp(t, `\b`+name+` = `+strconv.Itoa(int(button))+`[,;]`, string(keys))
	}
}

func TestTheScoreIsTheOrderOfThoseWhoRace(t *testing.T) {
	s := sim.New(1)
	var pass driftback.Pass
	pass.Begin(0, make([]driftback.Status, 3))
	sim.Step(&s, nil, &pass)
	s.Karts[2].Passed = 9
	require.Equal(t, "race 1, countdown, lap 2, order 3 1 2", score(&s))
}

func TestThereIsASeatForEveryKart(t *testing.T) {
	g := game()
	require.Len(t, g.Seats, sim.MaxKarts)
	require.Equal(t, "kart 8", g.Seats[7])
}
