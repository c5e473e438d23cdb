package simtest

import (
	"fmt"
	"slices"

	"github.com/driftback/driftback"
)

// MaxCuts bounds a scenario's cuts.
const MaxCuts = 256

// Cut takes the inputs of one participant away for the ticks from From to just before
// To: it presses the zero input. With what is left, a scenario shows which inputs a
// violation needs.
type Cut struct {
	Participant int `json:"participant"`
	From        int `json:"from"`
	To          int `json:"to"`
}

func (s *Scenario) validateCuts() error {
	err := checkAll(bound{"the number of cuts", int64(len(s.Cuts)), 0, MaxCuts, false})
	if err != nil {
		return err
	}
	for i, c := range s.Cuts {
		in := func(field string) string { return fmt.Sprintf("%s of cut %d", field, i) }
		err := checkAll(
			bound{in("participant"), int64(c.Participant), 0, int64(s.participants() - 1), false},
			bound{in("from"), int64(c.From), 0, MaxTicks - 1, false},
			bound{in("to"), int64(c.To), int64(c.From) + 1, MaxTicks, false},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// cut reports whether a participant's input for a tick is cut.
func (s *Scenario) cut(p driftback.Participant, t driftback.Tick) bool {
	return slices.ContainsFunc(s.Cuts, func(c Cut) bool {
		return c.Participant == int(p) && t >= driftback.Tick(c.From) && t < driftback.Tick(c.To)
	})
}

// addCut cuts [from, to) of a participant too, and joins what touches.
func (s *Scenario) addCut(participant, from, to int) {
	s.Cuts = slices.DeleteFunc(s.Cuts, func(c Cut) bool {
		touches := c.Participant == participant && c.From <= to && from <= c.To
		if touches {
			from, to = min(from, c.From), max(to, c.To)
		}
		return touches
	})
	s.Cuts = append(s.Cuts, Cut{participant, from, to})
	slices.SortFunc(s.Cuts, func(a, b Cut) int {
		if a.Participant != b.Participant {
			return a.Participant - b.Participant
		}
		return a.From - b.From
	})
}

// trimCuts takes away what lies beyond the scenario's last tick.
func (s *Scenario) trimCuts() {
	s.Cuts = slices.DeleteFunc(s.Cuts, func(c Cut) bool { return c.From >= s.Ticks })
	for i := range s.Cuts {
		s.Cuts[i].To = min(s.Cuts[i].To, s.Ticks)
	}
}
