package sim_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

func TestRounds(t *testing.T) {
	t.Run("nobody moves before the round starts", func(t *testing.T) {
		b := &bout{State: sim.New(1), counts: tally{}, last: map[uint32]driftback.Effect{}}
		b.run(79, right|heavy, up)
		require.Equal(t, sim.Intro, b.Phase)
		require.Equal(t, sim.New(1).Fighters[0].X, b.Fighters[0].X)
		require.Equal(t, sim.Stand, b.Fighters[1].Action)
		b.run(1, right, up)
		require.Equal(t, sim.Fight, b.Phase)
		require.Equal(t, driftback.Effect{Kind: sim.KindRoundStart, Args: [3]int32{0, 1}}, b.last[sim.KindRoundStart])
		require.Equal(t, sim.Walk, b.Fighters[0].Action)
	})
	t.Run("a knock-out ends the round, once, for the other", func(t *testing.T) {
		b := newBout(60)
		b.Fighters[1].Health = 20
		b.tap(heavy, none, 60, none, none)
		require.Equal(t, sim.RoundOver, b.Phase)
		require.Equal(t, 1, b.count(sim.KindKO, 1))
		require.Equal(t, driftback.Effect{Kind: sim.KindRoundEnd, Args: [3]int32{0, 1, 1}}, b.last[sim.KindRoundEnd])
		require.Equal(t, uint8(1), b.Fighters[0].Wins)
		require.Equal(t, sim.Cheer, b.Fighters[0].Action)
		require.Equal(t, sim.Lying, b.Fighters[1].Action)
		b.run(80, left, left)
		require.Equal(t, 1, b.count(sim.KindRoundEnd, 0))
		require.Equal(t, sim.Intro, b.Phase)
		require.Equal(t, uint8(2), b.Round)
		require.Equal(t, int16(sim.MaxHealth), b.Fighters[1].Health)
		require.Equal(t, uint8(1), b.Fighters[0].Wins)
	})
	t.Run("the time ends it for whoever has more health", func(t *testing.T) {
		b := newBout(200)
		b.Fighters[0].Health, b.Clock = 500, 10
		b.run(12, none, none)
		require.Equal(t, driftback.Effect{Kind: sim.KindRoundEnd, Args: [3]int32{1, 1, 0}}, b.last[sim.KindRoundEnd])
		require.Equal(t, sim.Kneel, b.Fighters[0].Action)
		require.Equal(t, sim.Cheer, b.Fighters[1].Action)
		require.Zero(t, b.count(sim.KindKO, 0))
	})
	t.Run("two who knock each other out both get the round", func(t *testing.T) {
		b := newBout(60)
		b.Fighters[0].Health, b.Fighters[1].Health = 10, 10
		b.tap(heavy, heavy, 20, none, none)
		require.Equal(t, driftback.Effect{Kind: sim.KindRoundEnd, Args: [3]int32{sim.NoWinner, 1, 1}}, b.last[sim.KindRoundEnd])
		require.Equal(t, uint8(1), b.Fighters[0].Wins)
		require.Equal(t, uint8(1), b.Fighters[1].Wins)
		require.Equal(t, 1, b.count(sim.KindKO, 0))
		require.Equal(t, 1, b.count(sim.KindKO, 1))
	})
	t.Run("the second round won ends the match, and the next begins", func(t *testing.T) {
		b := newBout(60)
		b.Fighters[0].Wins, b.Fighters[1].Wins, b.Fighters[0].Health, b.Round = 1, 1, 1, 3
		b.tap(none, heavy, 200, none, none)
		require.Equal(t, sim.MatchOver, b.Phase)
		require.Equal(t, driftback.Effect{Kind: sim.KindMatchEnd, Args: [3]int32{1, 1}}, b.last[sim.KindMatchEnd])
		won := b.WonFor()
		require.Positive(t, won)
		b.run(10, none, none)
		require.Equal(t, won+10, b.WonFor())
		b.run(140, none, none)
		require.Zero(t, b.WonFor())
		require.Equal(t, sim.Intro, b.Phase)
		require.Equal(t, uint32(2), b.Match)
		require.Equal(t, uint8(1), b.Round)
		require.Zero(t, b.Fighters[0].Wins+b.Fighters[1].Wins)
	})
	t.Run("a match of drawn rounds ends with no winner", func(t *testing.T) {
		b := newBout(200)
		for b.Phase != sim.MatchOver {
			b.Clock = min(b.Clock, 5)
			b.run(1, none, none)
		}
		require.Equal(t, driftback.Effect{Kind: sim.KindMatchEnd, Args: [3]int32{sim.NoWinner, 1}}, b.last[sim.KindMatchEnd])
	})
	t.Run("a throw that the bell interrupts hurts nobody", func(t *testing.T) {
		b := newBout(44).tap(throw, none, 8, none, none)
		require.Equal(t, sim.Caught, b.Fighters[1].Action)
		b.Clock = 3
		b.run(60, none, none)
		require.Equal(t, int16(sim.MaxHealth), b.Fighters[1].Health)
		require.Equal(t, sim.RoundOver, b.Phase)
		require.Equal(t, sim.Stand, b.Fighters[0].Action)
	})
}

func TestTheViewIsWhatThereIsToDraw(t *testing.T) {
	b := newBout(60).tap(heavy, none, 8, none, none)
	before := b.State
	v := b.View()
	require.Equal(t, before, b.State)
	require.Equal(t, "fight", v.Phase)
	require.Equal(t, 60, v.Seconds)
	require.Equal(t, "straight", v.Fighters[0].Action)
	require.Equal(t, "active", v.Fighters[0].Stage)
	require.True(t, v.Fighters[0].Frozen)
	require.Equal(t, "hit high", v.Fighters[1].Action)
	require.Equal(t, 1, v.Fighters[1].Combo)
	require.Equal(t, sim.MaxHealth-v.Fighters[1].Health, v.Fighters[1].Damage)
	require.Equal(t, sim.Rect{X: v.Fighters[1].X - 18, W: 36, H: 92}, v.Fighters[1].Hurt)

	t.Run("boxes are mirrored with the fighter", func(t *testing.T) {
		b := newBout(300).tap(heavy, heavy, 8, none, none)
		v := b.View()
		a, c := v.Fighters[0], v.Fighters[1]
		require.Equal(t, 58, a.Hit.W)
		require.Equal(t, a.Hit.X-a.X, c.X-(c.Hit.X+c.Hit.W))
	})
	t.Run("a projectile is seen where it is", func(t *testing.T) {
		b := newBout(300).tap(special, none, 20, none, none)
		shot := b.View().Shots[0]
		require.True(t, shot.Live)
		require.Equal(t, b.Shots[0].X.Round(), shot.X)
		require.Equal(t, sim.Rect{X: shot.X - 12, Y: shot.Y - 10, W: 24, H: 20}, shot.Hit)
		require.False(t, b.View().Shots[1].Live)
	})
	t.Run("it is JSON without more ado", func(t *testing.T) {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var back sim.View
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, v, back)
		require.Contains(t, string(text), `"fighters":[{"x":`)
	})
}

func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]bool{}
	for kind := sim.KindRoundStart; kind <= sim.KindMatchEnd; kind++ {
		name := sim.KindName(kind)
		require.NotEqual(t, "unknown kind", name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Equal(t, "unknown kind", sim.KindName(0))
	require.Equal(t, "unknown kind", sim.KindName(sim.KindMatchEnd+1))
}
