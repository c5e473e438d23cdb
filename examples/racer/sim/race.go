package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// The grid, behind the start line, in pixels.
const (
	gridFirst = 40 * px
	gridStep  = 34 * px
	gridSide  = 34 * px
)

// seat puts on the track who plays, and takes off it who is absent. Who comes back is put
// where the last checkpoint was passed.
func (s *State) seat(pass *driftback.Pass) {
	for p := range s.Karts {
		k, status := &s.Karts[p], pass.Status(driftback.Participant(p))
		on := status != driftback.Absent
		if on && !k.On {
			s.place(p)
		}
		k.On = on
		k.Bot = on && (status == driftback.Replaced || k.Place > 0 || s.Phase == Over)
		if !on {
			k.VX, k.VY, k.Held, k.Drift, k.Charge, k.Boost, k.Spin = 0, 0, 0, 0, 0, 0, 0
		}
	}
}

// place puts a kart on the grid, or where it was when it was taken off.
func (s *State) place(p int) {
	k := &s.Karts[p]
	along, side := -gridFirst-gridStep*fixed.Num(k.Grid), gridSide
	if k.Grid%2 == 0 {
		side = -gridSide
	}
	if k.Passed > 0 {
		along, side = lineAlong(int(k.Passed-1)%checkpoints), 0
	}
	var at int
	k.X, k.Y, at = ahead(along, side)
	k.At = int32(at)
	k.Heading = fixed.Atan2(track[at].dy, track[at].dx) & turnWhole
	k.VX, k.VY = 0, 0
	k.Known = true
}

// beginRace starts another race, from the places in Grid.
func (s *State) beginRace() {
	s.Race++
	s.Phase, s.Clock, s.Ended, s.Done = Countdown, 0, 0, 0
	s.Boxes, s.Oils = [boxes]uint16{}, [MaxKarts]Oil{}
	for p := range s.Karts {
		k := &s.Karts[p]
		on := k.On
		*k = Kart{Grid: k.Grid, Held: k.Held, On: on}
		if on {
			s.place(p)
		}
	}
}

// run counts the ticks of a phase and goes on to the next.
func (s *State) run(pass *driftback.Pass) {
	present := 0
	for p := range s.Karts {
		if s.Karts[p].On {
			present++
		}
	}
	if present == 0 {
		return // a race of nobody does not go on
	}
	switch s.Phase {
	case Countdown:
		if left := CountdownTicks - s.Clock; left == 0 {
			s.Phase, s.Clock = Racing, 0
			pass.Raise(effect(KindGo, int(s.Race)))
		} else if left%TicksPerSecond == 0 {
			pass.Raise(effect(KindCount, int(left/TicksPerSecond)))
		}
	case Racing:
		if s.Done > 0 {
			s.Ended++
		}
		if s.home() || s.Ended >= lateTicks || s.Clock >= raceTicks {
			s.endRace(pass)
		}
	case Over:
		if s.Clock >= overTicks {
			s.beginRace()
			return // the next tick is the countdown's first
		}
	}
	s.Clock++
}

// home says whether all who are on the track have finished.
func (s *State) home() bool {
	for p := range s.Karts {
		if k := &s.Karts[p]; k.On && k.Place == 0 {
			return false
		}
	}
	return true
}

// endRace lets the next race begin in the opposite order.
func (s *State) endRace(pass *driftback.Pass) {
	winner := -1
	var grid [MaxKarts]uint8
	for p := range s.Karts {
		if s.Karts[p].Place == 1 {
			winner = p
		}
		grid[p] = uint8(MaxKarts - 1 - s.rank(p))
	}
	// Who was not there starts behind; the others move up to the front.
	for p := range s.Karts {
		k := &s.Karts[p]
		k.Grid = 0
		for q := range s.Karts {
			ahead, here := s.Karts[q].Known, k.Known
			if q != p && (ahead && !here || ahead == here && grid[q] < grid[p]) {
				k.Grid++
			}
		}
	}
	s.Phase, s.Clock = Over, 0
	pass.RaiseConfirmed(effect(KindRaceEnd, winner, int(s.Race)))
}

// lap counts the checkpoints that karts pass, and the laps. Those who finish on the same
// tick do so in the order in which they are on the track.
func (s *State) lap(pass *driftback.Pass) {
	var finished [MaxKarts]bool
	for p := range s.Karts {
		k := &s.Karts[p]
		if !k.On || sector(int(k.At)) != int(k.Passed)%checkpoints {
			continue
		}
		k.Passed++
		if k.Place > 0 || k.Passed%checkpoints != 1 || k.Passed == 1 || s.Phase != Racing {
			continue
		}
		took := s.Clock - k.Lapped
		if k.Best == 0 || took < k.Best {
			k.Best = took
		}
		k.Lapped = s.Clock
		pass.Raise(effect(KindLap, p, k.Lap()-1, int(took)))
		if k.Passed == 1+Laps*checkpoints {
			finished[p] = true
		}
	}
	s.finish(finished, pass)
}

// finish gives their places to those who finish on this tick.
func (s *State) finish(who [MaxKarts]bool, pass *driftback.Pass) {
	for {
		first := -1
		for p := range s.Karts {
			if who[p] && (first < 0 || s.progress(p) > s.progress(first)) {
				first = p
			}
		}
		if first < 0 {
			return
		}
		who[first] = false
		s.Done++
		k := &s.Karts[first]
		k.Place, k.Took, k.Bot = uint8(s.Done), s.Clock, true
		pass.RaiseConfirmed(effect(KindFinish, first, int(k.Place), int(k.Took)))
	}
}

// Lap is the lap that a kart is on, from 1 to [Laps], or beyond once it has finished.
func (k *Kart) Lap() int { return max(int(k.Passed)-1, 0)/checkpoints + 1 }

// progress is how far a kart has come: the checkpoints, and then the way since the last.
func (s *State) progress(p int) int64 {
	k := &s.Karts[p]
	at := nearest(int(k.At), k.X, k.Y)
	since := at.along() - lineAlong((int(k.Passed)+checkpoints-1)%checkpoints)
	if since < -trackLength/2 {
		since += trackLength
	} else if since > trackLength/2 {
		since -= trackLength
	}
	return int64(k.Passed)*int64(trackLength) + int64(since)
}

// rank is how many karts are ahead of one: those that finished before it, and those that
// have come further. Karts that are not on the track are behind all that are.
func (s *State) rank(p int) (n int) {
	for q := range s.Karts {
		if q != p && s.isAhead(q, p) {
			n++
		}
	}
	return n
}

func (s *State) isAhead(q, p int) bool {
	a, b := &s.Karts[q], &s.Karts[p]
	switch {
	case (a.Place > 0) != (b.Place > 0):
		return a.Place > 0
	case a.Place > 0:
		return a.Place < b.Place
	case a.On != b.On:
		return a.On
	}
	if x, y := s.progress(q), s.progress(p); x != y {
		return x > y
	}
	return q < p
}
