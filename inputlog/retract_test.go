package inputlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
)

func TestInputsThatAreTakenBackCountAsGuesses(t *testing.T) {
	l, err := inputlog.New(inputlog.Config[int]{Participants: 2, Depth: 16})
	require.NoError(t, err)
	for at := range driftback.Tick(6) {
		_, err = l.Confirm(1, at, 10+int(at))
		require.NoError(t, err)
	}
	_, err = l.Confirm(1, 8, 18)
	require.NoError(t, err)
	for at := range driftback.Tick(2) {
		_, err = l.Confirm(0, at, 1)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, l.Confirmed())

	require.NoError(t, l.Retract(1, 3))
	require.EqualValues(t, 2, l.Confirmed())
	require.EqualValues(t, 3, l.ConfirmedOf(1))
	in, confirmed, ok := l.Peek(1, 4)
	require.Equal(t, 14, in)
	require.False(t, confirmed)
	require.True(t, ok)

	dst := make([]int, 2)
	require.NoError(t, l.Inputs(9, dst))
	require.Equal(t, 12, dst[1], "a guess is made from the newest that is left")
	changed, err := l.Confirm(1, 3, 13)
	require.NoError(t, err)
	require.False(t, changed, "the same as before")
	changed, err = l.Confirm(1, 4, 0)
	require.NoError(t, err)
	require.True(t, changed, "it had been used")
	changed, err = l.Confirm(1, 5, 15)
	require.NoError(t, err)
	require.False(t, changed)
	require.EqualValues(t, 6, l.ConfirmedOf(1), "and not 9: what had overtaken others is taken back too")
}

func TestWhatIsFinalCannotBeTakenBack(t *testing.T) {
	l, err := inputlog.New(inputlog.Config[int]{Participants: 1, Depth: 4})
	require.NoError(t, err)
	for at := range driftback.Tick(3) {
		_, err = l.Confirm(0, at, 7)
		require.NoError(t, err)
	}
	require.ErrorContains(t, l.Retract(0, 2), "every tick below 3 is confirmed")
	require.ErrorIs(t, l.Retract(1, 3), inputlog.ErrNoParticipant)
	require.NoError(t, l.Retract(0, 3))
	require.EqualValues(t, 3, l.Confirmed())
}

func TestAGuessAfterEverythingWasTakenBackIsMadeFromTheWindowsEdge(t *testing.T) {
	l, err := inputlog.New(inputlog.Config[int]{Participants: 1, Depth: 4})
	require.NoError(t, err)
	for at := range driftback.Tick(3) {
		_, err = l.Confirm(0, at, int(5+at))
		require.NoError(t, err)
	}
	l.Forget(3)
	_, err = l.Confirm(0, 4, 9)
	require.NoError(t, err)
	require.NoError(t, l.Retract(0, 3))
	dst := make([]int, 1)
	require.NoError(t, l.Inputs(5, dst))
	require.Equal(t, []int{7}, dst)
}
