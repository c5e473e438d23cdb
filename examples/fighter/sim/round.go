package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// beginRound sets both fighters in their places.
func (s *State) beginRound(round uint8) {
	s.Round, s.Phase, s.Pause = round, Intro, introTicks
	s.Clock, s.Winner, s.KO = RoundTicks, NoWinner, false
	s.Shots = [Sides]Shot{}
	for side := range s.Fighters {
		facing := int8(1 - 2*side)
		s.Fighters[side] = Fighter{
			X:      -StartDistance * px * fixed.Num(facing),
			Health: MaxHealth,
			Facing: facing,
			Wins:   s.Fighters[side].Wins,
		}
	}
}

// runPhase counts the phase down and begins the next.
func (s *State) runPhase(pass *driftback.Pass) {
	if s.Pause > 1 {
		s.Pause--
		return
	}
	s.Pause = 0
	switch s.Phase {
	case Intro:
		s.Phase = Fight
		pass.Raise(effect(KindRoundStart, 0, int(s.Round)))
	case RoundOver:
		if s.Fighters[0].Wins < WinsNeeded && s.Fighters[1].Wins < WinsNeeded {
			s.beginRound(s.Round + 1)
			return
		}
		s.Phase, s.Pause = MatchOver, matchTicks
		pass.RaiseConfirmed(effect(KindMatchEnd, s.matchWinner(), int(s.Match)))
	case MatchOver:
		s.Match++
		s.Fighters[0].Wins, s.Fighters[1].Wins = 0, 0
		s.beginRound(1)
	case Fight: // ends when judge says so
	}
}

// WonFor returns for how many ticks, that in which it happened among them, the match has been
// over; 0: it is not.
func (s *State) WonFor() driftback.Tick {
	if s.Phase != MatchOver {
		return 0
	}
	return driftback.Tick(matchTicks - s.Pause + 1)
}

// matchWinner returns the side with more rounds. A drawn round counts for both, so
// that a match always ends.
func (s *State) matchWinner() int {
	switch a, b := s.Fighters[0].Wins, s.Fighters[1].Wins; {
	case a > b:
		return 0
	case b > a:
		return 1
	}
	return NoWinner
}

// judge ends the round when a fighter is out or the time is up.
func (s *State) judge(pass *driftback.Pass) {
	s.Clock--
	a, b := &s.Fighters[0], &s.Fighters[1]
	s.KO = a.Health == 0 || b.Health == 0
	if !s.KO && s.Clock > 0 {
		return
	}
	for side := range s.Fighters {
		if s.Fighters[side].Health == 0 {
			pass.RaiseConfirmed(effect(KindKO, side, int(s.Round)))
		}
	}
	switch {
	case a.Health > b.Health:
		s.Winner = 0
		a.Wins++
	case b.Health > a.Health:
		s.Winner = 1
		b.Wins++
	default:
		s.Winner = NoWinner
		a.Wins++
		b.Wins++
	}
	ko := 0
	if s.KO {
		ko = 1
	}
	s.Phase, s.Pause = RoundOver, overTicks
	s.Shots = [Sides]Shot{}
	pass.RaiseConfirmed(effect(KindRoundEnd, int(s.Winner), int(s.Round), ko))
}
