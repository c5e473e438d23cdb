package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fixed"
)

func TestStrikes(t *testing.T) {
	t.Run("a jab takes four ticks to come out and seven to recover", func(t *testing.T) {
		b := newBout(300).run(1, light, none)
		stages := map[string]int{}
		for b.Fighters[0].Action == sim.Jab {
			stages[b.View().Fighters[0].Stage]++
			b.run(1, light, none)
		}
		require.Equal(t, map[string]int{"startup": 4, "active": 3, "recovery": 7}, stages)
		require.Equal(t, 1, b.count(sim.KindWhiff, 0))
		require.Equal(t, sim.Stand, b.Fighters[0].Action, "holding a button presses it once")
	})
	t.Run("a jab goes over the head of who crouches", func(t *testing.T) {
		b := newBout(44).run(2, none, down).tap(light, down, 20, none, down)
		require.Equal(t, 1, b.count(sim.KindWhiff, 0))
		require.Zero(t, b.count(sim.KindHit, 1))
	})
	t.Run("a strike out of reach meets nobody", func(t *testing.T) {
		b := newBout(120).tap(heavy, none, 40, none, none)
		require.Equal(t, 1, b.count(sim.KindWhiff, 0))
		require.Equal(t, int16(sim.MaxHealth), b.Fighters[1].Health)
	})
	t.Run("a blow stops both for a moment, then pushes", func(t *testing.T) {
		b := newBout(60).tap(heavy, none, 8, none, none)
		require.Equal(t, sim.HitHigh, b.Fighters[1].Action)
		require.Equal(t, b.Fighters[0].HitStop, b.Fighters[1].HitStop)
		require.Equal(t, int16(10), b.Fighters[1].HitStop)
		x, age := b.Fighters[1].X, b.Fighters[0].Age
		b.run(9, none, none)
		require.Equal(t, x, b.Fighters[1].X)
		require.Equal(t, age, b.Fighters[0].Age)
		b.run(8, none, none)
		require.Greater(t, b.Fighters[1].X, x+fixed.FromInt(15))
	})
	t.Run("who is hit can do nothing until the stun is over", func(t *testing.T) {
		b := newBout(60).tap(heavy, none, 8, none, none)
		stunned := 0
		for b.Fighters[1].Action == sim.HitHigh {
			b.run(1, none, left|up)
			stunned++
		}
		require.Equal(t, 10+21, stunned, "hit-stop and hit-stun")
		require.Equal(t, sim.Spring, b.Fighters[1].Action)
	})
	t.Run("blocking is over sooner", func(t *testing.T) {
		b := newBout(60).tap(heavy, right, 8, none, right)
		require.Equal(t, sim.BlockHigh, b.Fighters[1].Action)
		stunned := 0
		for b.Fighters[1].Action == sim.BlockHigh {
			b.run(1, none, none)
			stunned++
		}
		require.Equal(t, 10+15, stunned, "hit-stop and block-stun")
	})
	t.Run("a jab that lands turns into a straight and that into a projectile", func(t *testing.T) {
		b := newBout(46).tap(light, none, 5, none, none)
		require.Equal(t, 1, b.count(sim.KindHit, 1))
		b.tap(heavy, none, 20, none, none)
		require.Equal(t, 2, b.count(sim.KindHit, 1))
		b.tap(special, none, 45, none, none)
		require.Equal(t, 3, b.count(sim.KindHit, 1))
		require.Equal(t, int32(3), b.last[sim.KindHit].Args[2], "all in one combo")
		require.Zero(t, b.count(sim.KindWhiff, 0))
	})
	t.Run("a jab that misses does not", func(t *testing.T) {
		b := newBout(140).tap(light, none, 7, none, none)
		b.tap(heavy, none, 2, none, none)
		require.Equal(t, sim.Jab, b.Fighters[0].Action)
	})
	t.Run("the later blows of a combo are worth less", func(t *testing.T) {
		alone := newBout(60).tap(heavy, none, 30, none, none)
		b := newBout(46).tap(light, none, 5, none, none).tap(heavy, none, 20, none, none)
		require.Equal(t, int32(2), b.last[sim.KindHit].Args[2])
		require.Less(t, b.last[sim.KindHit].Args[1], alone.last[sim.KindHit].Args[1]-5)
	})
	t.Run("jabs alone end in a fall", func(t *testing.T) {
		b := newBout(40)
		for b.count(sim.KindFall, 1) == 0 {
			b.Fighters[1].X = b.Fighters[0].X + fixed.FromInt(40)
			b.tap(light, none, 2, none, none)
		}
		require.Equal(t, int32(8), b.last[sim.KindHit].Args[2], "no combo is longer")
		require.Equal(t, 8, b.count(sim.KindHit, 1))
	})
	t.Run("a combo ends when the stun does", func(t *testing.T) {
		b := newBout(46).tap(light, none, 60, none, none)
		require.Zero(t, b.Fighters[1].Combo)
		b.place(-23, 23)
		b.tap(light, none, 8, none, none)
		require.Equal(t, int32(1), b.last[sim.KindHit].Args[2])
	})
	t.Run("a button pressed too early is remembered", func(t *testing.T) {
		b := newBout(300).tap(light, none, 9, none, none) // four ticks before its end
		b.tap(heavy, none, 4, none, none)
		require.Equal(t, sim.Straight, b.Fighters[0].Action)
	})
	t.Run("but not for ever", func(t *testing.T) {
		b := newBout(300).tap(light, none, 2, none, none)
		b.tap(heavy, none, 14, none, none)
		require.Equal(t, sim.Stand, b.Fighters[0].Action)
	})
	t.Run("a sweep knocks down, and who lies cannot be hit", func(t *testing.T) {
		b := newBout(60).run(1, down, none).tap(down|heavy, none, 60, down, none)
		require.Equal(t, 1, b.count(sim.KindFall, 1))
		require.Equal(t, sim.Lying, b.Fighters[1].Action)
		require.Zero(t, b.View().Fighters[1].Hurt)
		b.place(-30, 30)
		b.tap(down|heavy, none, 14, down, none)
		require.Equal(t, 1, b.count(sim.KindHit, 1))
		b.run(60, none, none)
		require.Equal(t, sim.Stand, b.Fighters[1].Action)
	})
	t.Run("a blow in the air knocks down", func(t *testing.T) {
		b := newBout(60).run(27, none, up)
		b.place(-30, 30)
		b.tap(heavy, none, 12, none, none)
		require.Equal(t, sim.HitAir, b.Fighters[1].Action)
		b.run(60, none, none)
		require.Equal(t, 1, b.count(sim.KindFall, 1))
	})
	t.Run("a strike from the air hits who crouches and blocks", func(t *testing.T) {
		b := newBout(120).run(26, up|right, down|right)
		b.place(-22, 22)
		b.tap(heavy, down|right, 40, none, down|right)
		require.Equal(t, 1, b.count(sim.KindHit, 1))
		require.Equal(t, 1, b.count(sim.KindLand, 0))
	})
	t.Run("two who strike on the same tick are both hit", func(t *testing.T) {
		b := newBout(60).tap(heavy, heavy, 9, none, none)
		require.Equal(t, 1, b.count(sim.KindHit, 0))
		require.Equal(t, 1, b.count(sim.KindHit, 1))
		require.Equal(t, b.Fighters[0].Health, b.Fighters[1].Health)
	})
	t.Run("at the wall the striker is pushed back instead", func(t *testing.T) {
		away := func(x int) fixed.Num {
			b := newBout(60)
			b.place(x-60, x)
			b.tap(heavy, right, 8, none, right)
			from := b.Fighters[0].X
			b.run(30, none, right)
			return from - b.Fighters[0].X
		}
		require.Zero(t, away(0))
		require.Greater(t, away(sim.StageHalfWidth-16), fixed.FromInt(20))
	})
	t.Run("but not by a projectile", func(t *testing.T) {
		b := newBout(100)
		b.place(sim.StageHalfWidth-116, sim.StageHalfWidth-16)
		b.tap(special, right, 60, none, right)
		require.Equal(t, 1, b.count(sim.KindBlock, 1))
		require.Equal(t, fixed.FromInt(sim.StageHalfWidth-116), b.Fighters[0].X)
	})
}

func TestThrows(t *testing.T) {
	t.Run("a throw beats blocking", func(t *testing.T) {
		for _, guard := range []uint16{right, right | down, none, left} {
			b := newBout(44)
			b.run(1, none, guard)
			b.place(-20, 20)
			b.tap(throw, guard, 80, none, guard)
			require.Equal(t, 1, b.count(sim.KindThrow, 0), "guard %#x", guard)
			require.Equal(t, int16(sim.MaxHealth-140), b.Fighters[1].Health)
			require.Equal(t, 1, b.count(sim.KindFall, 1))
		}
	})
	t.Run("a throw is broken by a throw in time", func(t *testing.T) {
		b := newBout(44).tap(throw, none, 6, none, none)
		require.Equal(t, sim.Caught, b.Fighters[1].Action)
		b.tap(none, throw, 3, none, none)
		require.Equal(t, 1, b.count(sim.KindTech, 1))
		require.Equal(t, sim.Parted, b.Fighters[0].Action)
		b.run(40, none, none)
		require.Equal(t, int16(sim.MaxHealth), b.Fighters[1].Health)
		require.Greater(t, b.Fighters[1].X-b.Fighters[0].X, fixed.FromInt(60))
	})
	t.Run("and not by one that comes too late", func(t *testing.T) {
		b := newBout(44).tap(throw, none, 16, none, none)
		b.tap(none, throw, 60, none, none)
		require.Zero(t, b.count(sim.KindTech, 1))
		require.Equal(t, int16(sim.MaxHealth-140), b.Fighters[1].Health)
	})
	t.Run("two who grab each other let go", func(t *testing.T) {
		b := newBout(44).tap(throw, throw, 30, none, none)
		require.Equal(t, 1, b.count(sim.KindTech, 0))
		require.Equal(t, 1, b.count(sim.KindTech, 1))
		require.Zero(t, b.count(sim.KindThrow, 0)+b.count(sim.KindThrow, 1))
	})
	t.Run("nobody catches who is in the air, out of reach, stunned or getting up", func(t *testing.T) {
		air := newBout(44).run(10, none, up)
		air.place(-20, 20)
		far := newBout(70)
		stunned := newBout(46).tap(light, none, 9, none, none)
		stunned.Fighters[0].Action = sim.Stand
		rising := newBout(50).run(1, down, none).tap(down|heavy, none, 10, down, none)
		for rising.Fighters[1].Action != sim.GetUp {
			rising.run(1, none, none)
		}
		rising.place(-20, 20)
		for name, b := range map[string]*bout{"air": air, "far": far, "stunned": stunned, "rising": rising} {
			b.tap(throw, none, 8, none, none)
			require.Equal(t, sim.Grab, b.Fighters[0].Action, name)
			require.Zero(t, b.count(sim.KindThrow, 0), name)
		}
	})
	t.Run("a jab beats a throw that is begun with it", func(t *testing.T) {
		b := newBout(44).tap(throw, light, 20, none, none)
		require.Equal(t, 1, b.count(sim.KindHit, 0))
		require.Zero(t, b.count(sim.KindThrow, 0))
	})
	t.Run("a victim at the wall stays on the stage", func(t *testing.T) {
		b := newBout(40)
		b.place(sim.StageHalfWidth-50, sim.StageHalfWidth-16)
		b.tap(throw, none, 80, none, none)
		require.Equal(t, 1, b.count(sim.KindThrow, 0))
		require.LessOrEqual(t, b.Fighters[1].X.Round(), sim.StageHalfWidth-16)
	})
}

func TestShots(t *testing.T) {
	t.Run("a projectile flies until it leaves the stage", func(t *testing.T) {
		b := newBout(200).tap(special, none, 14, none, none)
		require.Positive(t, b.Shots[0].Life)
		x := b.Shots[0].X
		b.Fighters[1].Y, b.Fighters[1].Action = fixed.FromInt(150), sim.Jump
		b.run(1, none, none)
		require.Equal(t, fixed.FromInt(5), b.Shots[0].X-x)
		b.place(-100, -340)
		b.run(120, none, none)
		require.Zero(t, b.Shots[0])
		require.Zero(t, b.count(sim.KindHit, 1))
	})
	t.Run("there is one at a time", func(t *testing.T) {
		b := newBout(640).tap(special, none, 44, none, none)
		b.tap(special, none, 20, none, none)
		require.Equal(t, 1, b.count(sim.KindShot, 0))
		require.Equal(t, sim.Stand, b.Fighters[0].Action)
	})
	t.Run("two that meet are both gone", func(t *testing.T) {
		b := newBout(400).tap(special, special, 80, none, none)
		require.Equal(t, 1, b.count(sim.KindClash, 0))
		require.Zero(t, b.count(sim.KindHit, 0)+b.count(sim.KindHit, 1))
		require.Zero(t, b.Shots[0].Life+b.Shots[1].Life)
	})
	t.Run("a jump goes over it", func(t *testing.T) {
		b := newBout(260).tap(special, none, 32, none, none).run(10, none, up).run(40, none, none)
		require.Zero(t, b.count(sim.KindHit, 1)+b.count(sim.KindBlock, 1))
		require.Greater(t, b.Shots[0].X, b.Fighters[1].X)
	})
	t.Run("one that is struck before it sets out never does", func(t *testing.T) {
		b := newBout(50).tap(special, light, 40, none, none)
		require.Zero(t, b.count(sim.KindShot, 0))
		require.Equal(t, 1, b.count(sim.KindHit, 0))
	})
}
