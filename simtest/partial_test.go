package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/snapshot"
)

// maze is a world whose walls are made before the first tick.
type maze struct {
	Ticks int64
	At    [driftback.MaxParticipants]uint32
	Walls [64]uint32
}

// mazeGame is a game that saves all but the walls. after follows its step.
func mazeGame(after func(m *maze)) simtest.Game[maze, input] {
	return simtest.Game[maze, input]{
		Name: "maze",
		Initial: func() (m maze) {
			for i := range m.Walls[:32] {
				m.Walls[i] = uint32(i) * 3
			}
			return m
		},
		Start: func(seed uint64, m *maze) {
			dice := rng.New(seed, 1)
			for i := range m.Walls[32:] {
				m.Walls[32+i] = uint32(dice.Uint64()) | 1
			}
		},
		Step: func(m *maze, in []input, _ *driftback.Pass) {
			for p, i := range in {
				m.At[p] = m.At[p]*5 + uint32(i.Buttons) + m.Walls[m.At[p]%64]
			}
			m.Ticks++
			after(m)
		},
		Input: simtest.Witness().Input,
		Save: snapshot.Join(
			snapshot.Part(func(m *maze) *int64 { return &m.Ticks }, snapshot.Assign[int64]),
			snapshot.Part(func(m *maze) *[driftback.MaxParticipants]uint32 { return &m.At }, snapshot.For[[driftback.MaxParticipants]uint32]),
		),
	}
}

func TestAPolicyThatLeavesOutWhatNeverChangesBreaksNoRule(t *testing.T) {
	r := record(t, func(t testing.TB) {
		simtest.Run(t, mazeGame(func(*maze) {}), simtest.Options{Seeds: 10, Dir: t.TempDir()})
	})
	require.False(t, r.failed, "%s", r.log.String())
	require.Contains(t, r.log.String(), "saved by Game.Save")

	// The control: a wall that moves has to be saved.
	moving := mazeGame(func(m *maze) {
		if m.Ticks == 100 {
			m.Walls[40]++
		}
	})
	broken := false
	for seed := range uint64(20) {
		report, err := simtest.Check(moving, seed)
		require.NoError(t, err)
		broken = broken || report.Violation != nil
	}
	require.True(t, broken)
}
