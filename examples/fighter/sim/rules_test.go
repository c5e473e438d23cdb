package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fixed"
)

const (
	none    = uint16(0)
	left    = sim.Left
	right   = sim.Right
	up      = sim.Up
	down    = sim.Down
	light   = sim.Light
	heavy   = sim.Heavy
	throw   = sim.Throw
	special = sim.Special
)

// bout is a round in which the fighters stand a given distance apart.
type bout struct {
	sim.State
	pass   driftback.Pass
	tick   driftback.Tick
	counts tally
	last   map[uint32]driftback.Effect
}

func newBout(distance int) *bout {
	b := &bout{State: sim.New(1), counts: tally{}, last: map[uint32]driftback.Effect{}}
	for b.Phase != sim.Fight {
		b.run(1, none, none)
	}
	b.place(-distance/2, distance-distance/2)
	return b
}

func (b *bout) place(x0, x1 int) {
	b.Fighters[0].X, b.Fighters[1].X = fixed.FromInt(x0), fixed.FromInt(x1)
}

// run holds the given buttons for some ticks.
func (b *bout) run(ticks int, held0, held1 uint16) *bout {
	for range ticks {
		b.pass.Begin(b.tick, nil)
		sim.Step(&b.State, []sim.Input{{Buttons: held0}, {Buttons: held1}}, &b.pass)
		b.counts.add(b.pass.Raised())
		b.counts.add(b.pass.RaisedConfirmed())
		for _, e := range append(b.pass.Raised(), b.pass.RaisedConfirmed()...) {
			b.last[e.Kind] = e
		}
		b.tick++
	}
	return b
}

// tap presses buttons for one tick and then holds others.
func (b *bout) tap(pressed0, pressed1 uint16, ticks int, held0, held1 uint16) *bout {
	return b.run(1, pressed0, pressed1).run(ticks, held0, held1)
}

func (b *bout) count(kind uint32, side int) int {
	if b.counts[kind] == nil {
		return 0
	}
	return b.counts[kind][side]
}

func TestFeet(t *testing.T) {
	t.Run("walking forwards is faster than walking back", func(t *testing.T) {
		b := newBout(200)
		x0, x1 := b.Fighters[0].X, b.Fighters[1].X
		b.run(20, right, right)
		require.Equal(t, sim.Walk, b.Fighters[0].Action)
		require.Equal(t, sim.Retreat, b.Fighters[1].Action)
		require.Greater(t, b.Fighters[0].X-x0, b.Fighters[1].X-x1)
		require.Equal(t, fixed.FromInt(40), b.Fighters[1].X-x1)
	})
	t.Run("a fighter stops when nothing is held", func(t *testing.T) {
		b := newBout(200).run(5, right, none)
		x := b.Fighters[0].X
		b.run(5, none, none)
		require.Equal(t, x, b.Fighters[0].X)
		require.Equal(t, sim.Stand, b.Fighters[0].Action)
	})
	t.Run("opposite directions cancel out", func(t *testing.T) {
		b := newBout(200).run(5, left|right, up|down)
		require.Equal(t, sim.Stand, b.Fighters[0].Action)
		require.Equal(t, sim.Stand, b.Fighters[1].Action)
	})
	t.Run("buttons that do not exist do nothing", func(t *testing.T) {
		b, c := newBout(200), newBout(200)
		b.run(5, right|0xff00, 0xff00)
		c.run(5, right, none)
		require.Equal(t, c.State, b.State)
		require.False(t, sim.Input{Buttons: 0x100}.Valid())
		require.True(t, sim.Input{Buttons: sim.Buttons}.Valid())
	})
	t.Run("the wall stops a fighter", func(t *testing.T) {
		b := newBout(200).run(300, left, right)
		require.Equal(t, -b.Fighters[0].X, b.Fighters[1].X)
		require.Equal(t, sim.StageHalfWidth-16, b.Fighters[1].X.Round())
	})
	t.Run("walking into the other pushes it", func(t *testing.T) {
		b := newBout(60)
		x := b.Fighters[1].X
		b.run(60, right, none)
		require.Greater(t, b.Fighters[1].X, x+fixed.FromInt(20))
		require.Equal(t, fixed.FromInt(32), b.Fighters[1].X-b.Fighters[0].X)
	})
	t.Run("a jump is an arc of 38 ticks that lands where it began", func(t *testing.T) {
		b := newBout(300)
		top, air := fixed.Num(0), 0
		for range 60 {
			b.run(1, up, none)
			if b.count(sim.KindLand, 0) == 1 {
				break
			}
			if b.Fighters[0].Action == sim.Jump {
				air++
			}
			top = max(top, b.Fighters[0].Y)
		}
		require.Equal(t, 1, b.count(sim.KindLand, 0))
		require.InDelta(t, 38, air, 1)
		require.InDelta(t, 93, top.Round(), 3)
		require.Zero(t, b.Fighters[0].Y)
		require.Equal(t, fixed.FromInt(-150), b.Fighters[0].X)
	})
	t.Run("a jump forwards goes over the other, who turns round", func(t *testing.T) {
		b := newBout(50).run(8, up|right, none).run(60, none, none)
		require.Greater(t, b.Fighters[0].X, b.Fighters[1].X)
		require.Equal(t, int8(-1), b.Fighters[0].Facing)
		require.Equal(t, int8(1), b.Fighters[1].Facing)
	})
	t.Run("a missing input is nothing held, and one too many is ignored", func(t *testing.T) {
		a, b, c := newBout(100), newBout(100), newBout(100)
		sim.Step(&a.State, nil, &a.pass)
		sim.Step(&b.State, []sim.Input{{}, {}, {Buttons: heavy}}, &b.pass)
		c.run(1, none, none)
		require.Equal(t, c.State, a.State)
		require.Equal(t, c.State, b.State)
	})
}

// What fighter 0 does to fighter 1, who holds something: right is back.
func TestGuards(t *testing.T) {
	for name, c := range map[string]struct {
		distance       int
		press, guard   uint16
		hold           uint16 // by fighter 0, from before the press
		ticks          int
		blocked, shots int
	}{
		"a jab is blocked standing":               {50, light, right, none, 20, 1, 0},
		"a straight is blocked standing":          {60, heavy, right, none, 30, 1, 0},
		"an overhead is blocked standing":         {50, heavy, right, right, 40, 1, 0},
		"an overhead hits who crouches":           {50, heavy, right | down, right, 40, 0, 0},
		"a low kick is blocked crouching":         {50, light, right | down, down, 20, 1, 0},
		"a low kick hits who stands":              {50, light, right, down, 20, 0, 0},
		"a sweep is blocked crouching":            {60, heavy, right | down, down, 40, 1, 0},
		"a sweep hits who stands":                 {60, heavy, right, down, 40, 0, 0},
		"nothing held blocks nothing":             {50, light, none, none, 20, 0, 0},
		"holding forwards blocks nothing":         {60, heavy, left, none, 30, 0, 0},
		"crouching without holding back does not": {60, heavy, down, down, 40, 0, 0},
		"a projectile is blocked standing":        {200, special, right, none, 90, 1, 1},
		"a projectile is blocked crouching":       {200, special, right | down, none, 60, 1, 1},
		"a projectile hits who does not block":    {200, special, none, none, 60, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBout(c.distance)
			b.run(1, c.hold&down, c.guard&down) // down already, for its crouching moves
			b.place(-c.distance/2, c.distance-c.distance/2)
			b.tap(c.hold|c.press, c.guard, c.ticks, c.hold, c.guard)
			require.Equal(t, c.shots, b.count(sim.KindShot, 0))
			require.Equal(t, c.blocked, b.count(sim.KindBlock, 1), "blocked")
			require.Equal(t, 1-c.blocked, b.count(sim.KindHit, 1), "hit")
			lost := sim.MaxHealth - b.Fighters[1].Health
			switch {
			case c.blocked == 0:
				require.Greater(t, lost, int16(30))
			case c.shots == 1:
				require.Equal(t, int16(10), lost, "a projectile's chip damage")
			default:
				require.Zero(t, lost)
			}
		})
	}
}
