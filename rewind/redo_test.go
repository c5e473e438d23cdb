package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
)

// A step that depends on more than inputs is run again with what has changed, once for all
// that has, from the earliest tick on.
func TestTicksAreRunAgainThoughNoInputHasChanged(t *testing.T) {
	still := map[driftback.Tick]bool{}
	var ran []driftback.Tick
	l, _ := newLoop(t, 1, 8, func(c *rewind.Config[world, uint16]) {
		game := c.Step
		c.Step = func(w *world, in []uint16, pass *driftback.Pass) {
			if !still[pass.Tick()] {
				game(w, in, pass)
			}
			ran = append(ran, pass.Tick())
		}
	})
	advance(t, l, 6)
	ran = nil
	still[3], still[4] = true, true
	require.NoError(t, l.Redo(4))
	require.NoError(t, l.Redo(3))
	require.NoError(t, l.Redo(5), "which is run again anyway")
	require.NoError(t, l.Redo(6), "which has not run")
	require.ErrorIs(t, l.Snapshot(4, &world{}), rewind.ErrUnsettled)
	again, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 3, To: 6}, again)
	require.Equal(t, []driftback.Tick{3, 4, 5}, ran)
	require.Equal(t, snapshotOf(t, l, 3), snapshotOf(t, l, 5))
	require.NotEqual(t, snapshotOf(t, l, 3), *l.State(), "tick 5 was run")

	again, err = l.Settle()
	require.NoError(t, err)
	require.Zero(t, again, "once")
}

func TestATickThatNoSnapshotIsLeftOfIsNotRunAgain(t *testing.T) {
	l, _ := newLoop(t, 1, 4)
	advance(t, l, 9)
	was := *l.State()
	require.NoError(t, l.Redo(l.Oldest()), "the control: the oldest is")
	_, err := l.Settle()
	require.NoError(t, err)
	require.ErrorIs(t, l.Redo(l.Oldest()-1), rewind.ErrOutOfReach)
	require.EqualError(t, l.Redo(2), "rewind: out of reach: tick 2 is to be run again, and the oldest snapshot is of tick 6")
	require.Equal(t, was, *l.State())
	require.NoError(t, l.Lend(9, func(*world) { require.ErrorIs(t, l.Redo(8), rewind.ErrRunning) }))
}

func TestWhatRunsAgainIsToldWhatHasChanged(t *testing.T) {
	from := driftback.Tick(100) // participant 1 is replaced from here on
	l, _ := newLoop(t, 2, 8, func(c *rewind.Config[world, uint16]) {
		c.Statuses = func(tick driftback.Tick, dst []driftback.Status) {
			clear(dst)
			if tick >= from {
				dst[1] = driftback.Replaced
			}
		}
		c.Step = func(w *world, in []uint16, pass *driftback.Pass) {
			step(w, in, nil)
			if pass.Status(1) == driftback.Replaced {
				w.Mixed++
			}
		}
	})
	advance(t, l, 6)
	before := *l.State()
	from = 3
	require.NoError(t, l.Redo(3))
	require.NoError(t, l.Redo(5), "a later one changes nothing")
	again, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 3, To: 6}, again)
	require.NotEqual(t, before, *l.State(), "the control: the step was told")

	want := world{}
	for tick := range 6 {
		step(&want, []uint16{0, 0}, nil)
		if tick >= 3 {
			want.Mixed++
		}
	}
	require.Equal(t, want, *l.State())
	require.NoError(t, l.Redo(6), "a tick that has not run")
	again, err = l.Settle()
	require.NoError(t, err)
	require.Zero(t, again)
}

func TestATickThatIsTooOldDoesNotRunAgain(t *testing.T) {
	l, _ := newLoop(t, 1, 4)
	advance(t, l, 10)
	require.EqualValues(t, 7, l.Oldest())
	require.ErrorIs(t, l.Redo(6), rewind.ErrOutOfReach)
	again, err := l.Settle()
	require.NoError(t, err)
	require.Zero(t, again)
	require.NoError(t, l.Redo(7))
	again, err = l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 7, To: 10}, again)
}
