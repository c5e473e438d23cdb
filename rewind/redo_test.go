package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
)

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
