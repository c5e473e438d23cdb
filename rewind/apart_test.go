package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

func TestWhatIsDoneApartLeavesNoTrace(t *testing.T) {
	for n := range 20 {
		l, _, want := newLent(t, n, moving)
		lent := 0
		require.NoError(t, l.Apart(func(w *world) {
			lent++
			require.Equal(t, want[n], *w, "it is whole")
			for name, err := range methods(l) {
				require.ErrorIs(t, err, rewind.ErrRunning, name)
			}
			step(w, []uint16{7, 9}, nil)
			require.NotEqual(t, want[n], *w)
		}))
		require.Equal(t, 1, lent)
		require.Equal(t, want[n], *l.State())
		for tick := l.Oldest(); tick < l.Next(); tick++ {
			w := start
			require.NoError(t, l.Snapshot(tick, &w))
			require.Equal(t, want[tick], w)
		}
		again, err := l.Settle()
		require.NoError(t, err)
		require.Zero(t, again.Len())
	}
}

func TestNothingIsDoneApartInAWorldThatIsKnownToBeWrong(t *testing.T) {
	l, _, _ := newLent(t, 5, nil)
	require.EqualError(t, l.Apart(nil), "rewind: run is nil; it must be a function to lend the world to")
	advance(t, l, 2)
	require.NoError(t, l.Supply(0, 5, 99))
	require.ErrorIs(t, l.Apart(func(*world) { t.Fatal("it is lent") }), rewind.ErrUnsettled)
	_, err := l.Settle()
	require.NoError(t, err)
	require.NoError(t, l.Apart(func(*world) {}))
}

func TestAWorldThatCannotBeTakenBackIsRunAnew(t *testing.T) {
	sound := func(int) bool { return false }
	store := &halfway{fails: sound}
	l, _, want := newLent(t, 5, func(places int) (s snapshot.Store[world], err error) {
		store.Store, err = moving(places)
		return store, err
	})
	store.fails = func(load int) bool { return load < 0 }
	require.ErrorIs(t, l.Apart(func(*world) { t.Fatal("it is lent") }), rewind.ErrStore)
	require.Equal(t, want[5], *l.State())
	store.fails = func(load int) bool { return load == 0 }
	require.ErrorIs(t, l.Apart(func(w *world) { step(w, []uint16{7, 9}, nil) }), rewind.ErrStore)
	require.NotEqual(t, want[5], *l.State())
	store.fails = sound
	again, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 4, To: 5}, again)
	require.Equal(t, want[5], *l.State())
	require.Equal(t, driftback.Tick(5), l.Next())
}
