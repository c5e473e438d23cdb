package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// race is a game that a test steps by hand.
type race struct {
	State
	pass     driftback.Pass
	statuses []driftback.Status
	at       driftback.Tick
}

// racing returns a race of so many karts that has just begun.
func racing(karts int) *race {
	r := &race{State: New(1), statuses: make([]driftback.Status, karts)}
	for r.Phase != Racing {
		r.step()
	}
	return r
}

func (r *race) step(in ...Input) {
	r.pass.Begin(r.at, r.statuses)
	Step(&r.State, in, &r.pass)
	r.at++
}

// raised says whether the newest tick raised an effect of this kind.
func (r *race) raised(kind uint32) bool {
	for _, e := range append(r.pass.Raised(), r.pass.RaisedConfirmed()...) {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

func TestNobodyMovesBeforeTheRace(t *testing.T) {
	s := &race{State: New(1), statuses: make([]driftback.Status, 3)}
	s.step()
	x, y := s.Karts[2].X, s.Karts[2].Y
	for s.Phase == Countdown {
		require.Equal(t, [2]fixed.Num{x, y}, [2]fixed.Num{s.Karts[2].X, s.Karts[2].Y})
		s.step(Input{Throttle}, Input{Throttle}, Input{Throttle})
	}
	require.True(t, s.raised(KindGo))
	require.NotEqual(t, x, s.Karts[2].X)
	require.False(t, s.Karts[3].On, "who is absent is not on the track")
}

func TestOneWhoIsReplacedIsDrivenByTheBotAndGetsTheKartBack(t *testing.T) {
	r := racing(2)
	for range 200 {
		r.step()
	}
	require.Zero(t, r.Karts[1].VX, "the control: nobody drives")
	r.statuses[1] = driftback.Replaced
	from := r.Karts[1].Passed
	for range 400 {
		r.step(Input{}, Input{Brake}) // what is behind a replaced player's input does not count
	}
	require.True(t, r.Karts[1].Bot)
	require.Greater(t, r.Karts[1].Passed, from+1)
	require.Zero(t, r.Karts[0].Passed)
	r.statuses[1] = driftback.Playing
	for range 200 {
		r.step()
	}
	require.False(t, r.Karts[1].Bot)
	require.Less(t, r.Karts[1].speed(), px, "it rolls to a stop")
}

func TestOneWhoIsAbsentIsOffTheTrackAndComesBackWhereTheLastCheckpointWas(t *testing.T) {
	r := racing(2)
	r.statuses[1] = driftback.Replaced
	for r.Karts[1].Passed < 3 {
		r.step()
	}
	for range 40 {
		r.step()
	}
	passed := r.Karts[1].Passed
	r.statuses[1] = driftback.Absent
	r.step()
	require.False(t, r.Karts[1].On)
	require.Zero(t, r.Karts[1].VX)
	r.statuses[1] = driftback.Playing
	r.step()
	x, y, _ := ahead(lineAlong(int(passed-1)), 0)
	require.True(t, r.Karts[1].On)
	require.Equal(t, passed, r.Karts[1].Passed)
	require.True(t, near(r.Karts[1].X, r.Karts[1].Y, x, y, px))
}

func TestOneWhoComesLateStartsFromTheGrid(t *testing.T) {
	r := racing(3)
	for range 300 {
		r.step(Input{Throttle})
	}
	r.statuses = make([]driftback.Status, 4)
	r.step()
	k := &r.Karts[3]
	require.True(t, k.On)
	require.Zero(t, k.Passed)
	require.Less(t, trackLength-track[k.At].along, 300*px, "behind the start line")
}

func TestARaceThatNobodyIsInDoesNotBegin(t *testing.T) {
	r := &race{State: New(1)}
	for range 2 * CountdownTicks {
		r.step()
	}
	require.Equal(t, Countdown, r.Phase)
	r.statuses = make([]driftback.Status, 1)
	for range CountdownTicks {
		r.step()
	}
	require.Equal(t, Countdown, r.Phase, "and then counts from the beginning")
	r.step()
	require.Equal(t, Racing, r.Phase)
}

// straightaway puts kart 0 on the straight after the start, at speed.
func straightaway(r *race, speed fixed.Num) *Kart {
	k := &r.Karts[0]
	var at int
	k.X, k.Y, at = ahead(60*px, 0)
	k.At, k.Heading = int32(at), 0
	k.VX, k.VY = speed, 0
	return k
}

func TestALongDriftGivesABoostAndAShortOneNone(t *testing.T) {
	for ticks, want := range map[int]int16{charged / 2: 0, charged + 5: smallBoost, wellDone + 5: largeBoost} {
		r := racing(1)
		k := straightaway(r, 5*px)
		for range ticks {
			k.X, k.Y, _ = ahead(60*px, 0) // or it would run out of road
			k.At = 0
			r.step(Input{Throttle | Slide | Right})
			require.Equal(t, int8(1), k.Drift)
		}
		r.step(Input{Throttle})
		require.Equal(t, want, k.Boost, "after %d ticks", ticks)
		require.Equal(t, want > 0, r.raised(KindBoost))
	}
}

func TestABoostIsFasterThanTheThrottleAlone(t *testing.T) {
	speeds := map[bool]fixed.Num{}
	for _, boost := range []bool{false, true} {
		r := racing(1)
		k := straightaway(r, 5*px)
		if boost {
			k.Item = Turbo
		}
		for tick := range 60 {
			in := Input{Throttle}
			if tick == 0 {
				in.Buttons |= Use
			}
			r.step(in)
		}
		speeds[boost] = k.speed()
	}
	require.Greater(t, speeds[true], speeds[false]+px)
	require.Less(t, speeds[false], 6*px)
}

func TestTwoKartsThatMeetPushEachOtherApart(t *testing.T) {
	r := racing(2)
	a := straightaway(r, 6*px)
	b := &r.Karts[1]
	b.X, b.Y, b.At, b.VX, b.VY = a.X+31*px, a.Y, a.At, 0, 0
	momentum := a.VX
	r.step()
	require.True(t, r.raised(KindBump))
	require.Greater(t, b.VX, a.VX)
	require.Greater(t, b.VX, 3*px)
	require.GreaterOrEqual(t, norm(b.X-a.X, b.Y-a.Y), (2*KartRadius-1)*px)
	require.InDelta(t, float64(momentum), float64(a.VX+b.VX), float64(px/4), "what one loses the other has, but for the drag")
}

func TestAWallStopsAKartAndSaysSo(t *testing.T) {
	r := racing(1)
	k := straightaway(r, 0)
	k.VY, k.Heading = 6*px, fixed.Quarter
	told := false
	for range 30 {
		r.step()
		told = told || r.raised(KindWall)
	}
	require.True(t, told)
	require.Less(t, k.VY, fixed.Num(1))
}

func TestItemsDoWhatTheySay(t *testing.T) {
	t.Run("oil spins who drives into it, once, and not its owner at first", func(t *testing.T) {
		r := racing(2)
		a := straightaway(r, 0)
		a.Item = Puddle
		r.step(Input{Use})
		require.True(t, r.raised(KindOil))
		require.NotZero(t, r.Oils[0].Life)
		b := &r.Karts[1]
		b.X, b.Y, b.At, b.VX, b.VY, b.Heading = r.Oils[0].X, r.Oils[0].Y, a.At, 0, 0, 0
		a.X += 60 * px
		r.step()
		require.True(t, r.raised(KindSpin))
		require.Positive(t, b.Spin)
		require.Zero(t, a.Spin)
		require.Zero(t, r.Oils[0])
		heading := b.Heading
		for b.Spin > 0 {
			r.step()
		}
		require.Equal(t, heading, b.Heading, "it ends as it was")
	})
	t.Run("a pulse spins who is near, and nobody else", func(t *testing.T) {
		r := racing(3)
		a := straightaway(r, 0)
		a.Item = Pulse
		r.Karts[1].X, r.Karts[1].Y, r.Karts[1].At = a.X+80*px, a.Y, a.At
		far := &r.Karts[2]
		require.Greater(t, norm(far.X-a.X, far.Y-a.Y), pulseReach)
		r.step(Input{Use})
		require.True(t, r.raised(KindPulse))
		require.Positive(t, r.Karts[1].Spin)
		require.Greater(t, r.Karts[1].VX, 3*px)
		require.Zero(t, a.Spin+far.Spin)
	})
	t.Run("a button that is held uses one item", func(t *testing.T) {
		r := racing(1)
		k := straightaway(r, 0)
		r.step(Input{Use})
		k.Item = Turbo
		r.step(Input{Use})
		require.Equal(t, Turbo, k.Item)
		r.step()
		r.step(Input{Use})
		require.Equal(t, NoItem, k.Item)
	})
	t.Run("a box gives an item and is gone for a while", func(t *testing.T) {
		r := racing(1)
		k := &r.Karts[0]
		k.X, k.Y = boxPlaces[0].x, boxPlaces[0].y
		_, _, at := ahead(trackLength.Mul(px*3/20), 0)
		k.At = int32(at)
		r.step()
		require.True(t, r.raised(KindPickUp))
		require.NotEqual(t, NoItem, k.Item)
		require.False(t, r.View().Boxes[0])
		for range boxTicks {
			r.step()
		}
		require.True(t, r.View().Boxes[0])
	})
}

func TestWhoDrivesBackwardsOverTheLineHasNotDrivenALap(t *testing.T) {
	r := racing(1)
	k := &r.Karts[0]
	put := func(along fixed.Num) {
		var at int
		k.X, k.Y, at = ahead(along, 0)
		k.At, k.VX, k.VY = int32(at), 0, 0
		r.step()
	}
	put(10 * px)
	require.Equal(t, int32(1), k.Passed)
	for range 5 {
		put(-10 * px)
		put(10 * px)
	}
	require.Equal(t, int32(1), k.Passed)
	require.Equal(t, 1, k.Lap())
	put(lineAlong(5) + 10*px)
	require.Equal(t, int32(1), k.Passed, "nor who leaves half of it out")
}

func TestTheOneWhoWinsStartsTheNextRaceFromBehind(t *testing.T) {
	r := &race{State: New(3), statuses: make([]driftback.Status, 4)}
	for p := range r.statuses {
		r.statuses[p] = driftback.Replaced
	}
	for r.Phase != Over {
		r.step()
	}
	require.True(t, r.raised(KindRaceEnd))
	order := map[uint8]int{}
	for p := range 4 {
		order[r.Karts[p].Place] = p
	}
	require.Len(t, order, 4)
	for r.Race == 1 {
		r.step()
	}
	for place := uint8(1); place <= 4; place++ {
		require.Equal(t, 4-place, r.Karts[order[place]].Grid, "place %d", place)
	}
	require.Less(t, r.Karts[4].Grid, uint8(MaxKarts))
	require.GreaterOrEqual(t, r.Karts[4].Grid, uint8(4), "those who were not there start behind")
}

func TestARaceThatSomebodyHasWonEndsSoon(t *testing.T) {
	r := racing(2)
	r.statuses[0] = driftback.Replaced
	for r.Karts[0].Place == 0 {
		r.step()
	}
	from := r.at
	for r.Phase == Racing {
		r.step()
	}
	require.InDelta(t, lateTicks, int(r.at-from), 3)
	require.Zero(t, r.Karts[1].Place)
}
