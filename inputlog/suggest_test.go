package inputlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
)

func TestASuggestionIsAGuessAndNoMore(t *testing.T) {
	l, err := inputlog.New(inputlog.Config[int]{Participants: 2, Depth: 8})
	require.NoError(t, err)
	inputs := func(at driftback.Tick) []int {
		in := make([]int, 2)
		require.NoError(t, l.Inputs(at, in))
		return in
	}
	l.Suggest(0, 1, 7)
	_, _, ok := l.Peek(0, 1)
	require.False(t, ok, "no step has used it")
	require.Equal(t, []int{0, 0}, inputs(0))
	require.Equal(t, []int{7, 0}, inputs(1))
	require.Equal(t, []int{0, 0}, inputs(2), "what was suggested is not repeated: it counts for nothing yet")
	require.Equal(t, driftback.Tick(0), l.Confirmed())
	in, confirmed, ok := l.Peek(0, 1)
	require.True(t, ok)
	require.False(t, confirmed)
	require.Equal(t, 7, in)

	l.Suggest(0, 1, 8) // a step has used another one
	require.Equal(t, []int{7, 0}, inputs(1))

	changed, err := l.Confirm(0, 0, 3)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []int{7, 0}, inputs(1), "it outlasts a re-simulation")
	require.Equal(t, []int{3, 0}, inputs(2))
	changed, err = l.Confirm(0, 1, 7)
	require.NoError(t, err)
	require.False(t, changed, "it was right")
	l.Suggest(0, 1, 9) // it is confirmed
	require.Equal(t, []int{7, 0}, inputs(1))
	l.Suggest(0, 3, 5)
	changed, err = l.Confirm(0, 3, 6)
	require.NoError(t, err)
	require.False(t, changed, "no step has used it")
	require.Equal(t, []int{6, 0}, inputs(3))

	// The place of a tick that was forgotten has no suggestion.
	for at := driftback.Tick(0); at < 4; at++ {
		for p := range driftback.Participant(2) {
			if _, c, _ := l.Peek(p, at); !c {
				_, err := l.Confirm(p, at, 1)
				require.NoError(t, err)
			}
		}
	}
	l.Forget(4)
	require.Equal(t, []int{6, 1}, inputs(8+1))

	l.Suggest(5, 4, 1) // neither there
	l.Suggest(0, 99, 1)
}
