package simtest

import (
	"fmt"
	"slices"
)

// Scenario returns the scenario of a seed, as [Generate] makes it but for what
// Game.Players cuts off: participants that share a peer, then whole peers, and faults that
// then would be between nobody.
func (g Game[S, I]) Scenario(seed uint64) Scenario { return g.Shaped(seed, Shape{}) }

func (s *Scenario) limit(players int) {
	for i := len(s.Peers) - 1; i >= 0; i-- {
		over := s.participants() - players
		if plays := s.Peers[i].Plays; over > 0 && len(plays) > 1 {
			s.Peers[i].Plays = plays[:max(1, len(plays)-over)]
			s.renumber()
		}
	}
	for s.participants() > players {
		s.removePeer(len(s.Peers) - 1)
	}
	if len(s.Peers) < 2 {
		s.Watchers = nil // there is no network
	}
	all := s.Faults
	s.Faults = nil
	for _, f := range all {
		s.Faults = append(s.Faults, f)
		if s.Validate() != nil {
			s.Faults = slices.Delete(s.Faults, len(s.Faults)-1, len(s.Faults))
		}
	}
}

// seats returns an error if a scenario has more participants than the game is for, or one
// in a game for several.
func (g *Game[S, I]) seats(s *Scenario) error {
	if n := s.participants(); g.Players > 0 && n > g.Players {
		return fmt.Errorf("simtest: the scenario has %d participants, and Game.Players is %d: "+
			"the game is for no more; Game.Scenario(seed) makes one that fits, and a larger Players allows this one", n, g.Players)
	} else if n < min(g.Players, 2) {
		return fmt.Errorf("simtest: the scenario has %d participant, and Game.Players is %d: the game is for 2 at least; Game.Scenario(seed) makes one that fits", n, g.Players)
	}
	return nil
}
