package main

import (
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak/command"
)

// simCommand plays simulated matches.
func simCommand() *cli.Command {
	c := command.Sim(command.Of(simtest.Witness()), command.Of(fighter()))
	c.UsageText = strings.ReplaceAll(c.UsageText, "sim ", "driftback sim ")
	return c
}

// fighter is the example's game with somebody at the buttons who mostly walks up to the
// other and strikes: nobody who pressed at random would ever meet.
func fighter() simtest.Game[sim.State, sim.Input] {
	return simtest.Game[sim.State, sim.Input]{
		Name: "fighter", Players: sim.Sides, Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid, Input: fight,
	}
}

func fight(r *rng.PCG, p driftback.Participant, _ driftback.Tick) (in sim.Input) {
	toward, away := sim.Right, sim.Left
	if p%sim.Sides == 1 {
		toward, away = away, toward
	}
	switch n := r.IntN(10); {
	case n < 5:
		in.Buttons = toward
	case n < 6:
		in.Buttons = away
	case n < 7:
		in.Buttons = toward | sim.Up
	case n < 9:
		return sim.Input{Buttons: away | sim.Down} // guarding
	}
	if r.Chance(1, 2) {
		in.Buttons |= sim.Light << r.IntN(4) // or Heavy, Throw or Special
	}
	return in
}
