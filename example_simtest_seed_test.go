package driftback_test

import (
	"testing"

	"github.com/driftback/driftback/simtest"
)

func TestOneSeed(t *testing.T) {
	game := simtest.Game[State, Input]{Name: "race", Players: 2, Step: step, Input: press}
	scenario := game.Scenario(7) // what Run plays for seed 7; it has no more than game.Players
	report, err := simtest.SyncTest(game, scenario)
	if err != nil {
		t.Fatal(err) // there was nothing to run, or a state could not be saved or hashed
	}
	if report.Finding != nil {
		t.Fatal(report.Finding) // the mistake, the tick and the first field that differs
	}
	t.Logf("%d of %d ticks changed the state, and it was rewound %d times", report.Changed, report.Ticks, report.Rewinds)
}
