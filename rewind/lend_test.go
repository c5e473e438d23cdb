package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// moving leaves out what two participants never change: the third's and fourth's Seen.
var moving = snapshot.Join(
	snapshot.Part(func(w *world) *uint64 { return &w.Tick }, snapshot.Assign[uint64]),
	snapshot.Part(func(w *world) *uint64 { return &w.Mixed }, snapshot.Assign[uint64]),
	snapshot.Part(func(w *world) *[2]uint16 { return (*[2]uint16)(w.Seen[:]) }, snapshot.Assign[[2]uint16]),
)

// start is a world of which a part never changes.
var start = world{Seen: [4]uint16{0, 0, 30, 40}}

// newLent returns a loop that has run n ticks from start, and the world as each began.
func newLent(t *testing.T, n int, save snapshot.Policy[world]) (*loop, *inputlog.Log[uint16], []world) {
	t.Helper()
	begins := start
	l, log := newLoop(t, 2, 8, func(c *rewind.Config[world, uint16]) { c.Save, c.Initial = save, &begins })
	w := start
	all := []world{w}
	for tick := range driftback.Tick(n) {
		in := []uint16{uint16(tick + 1), uint16(tick / 2)}
		for p, v := range in {
			require.NoError(t, l.Supply(driftback.Participant(p), tick, v))
		}
		advance(t, l, 1)
		step(&w, in, nil)
		all = append(all, w)
	}
	return l, log, all
}

func TestAWorldThatIsLentIsWholeWhateverThePolicySaves(t *testing.T) {
	all := map[string]snapshot.Policy[world]{"the parts that move": moving}
	for name, policy := range policies {
		all[name] = policy
	}
	for name, policy := range all {
		t.Run(name, func(t *testing.T) {
			for n := range 20 { // the ring goes round
				l, _, want := newLent(t, n, policy)
				for tick := l.Oldest(); tick <= l.Next(); tick++ {
					lent := 0
					require.NoError(t, l.Lend(tick, func(w *world) {
						lent++
						require.Equal(t, want[tick], *w)
						for name, err := range methods(l) {
							require.ErrorIs(t, err, rewind.ErrRunning, name)
						}
					}))
					require.Equal(t, 1, lent)
					require.Equal(t, want[n], *l.State(), "the present is back")
				}
				for tick := l.Oldest(); tick < l.Next(); tick++ {
					w := start
					require.NoError(t, l.Snapshot(tick, &w))
					require.Equal(t, want[tick], w, "every snapshot is what it was")
				}
			}
		})
	}
	// The control: a copy in an empty world is not whole.
	l, _, want := newLent(t, 5, moving)
	require.NotEqual(t, want[3], snapshotOf(t, l, 3))
}

func TestNoWorldIsLentThatIsNotAtHandOrKnownToBeWrong(t *testing.T) {
	l, _, want := newLent(t, 12, nil)
	refused := func(tick driftback.Tick, is error) {
		t.Helper()
		was := l.Counts()
		require.ErrorIs(t, l.Lend(tick, func(*world) { t.Fatal("it is lent") }), is)
		require.Equal(t, was, l.Counts())
	}
	refused(l.Oldest()-1, rewind.ErrOutOfReach)
	refused(13, rewind.ErrOutOfReach)
	require.EqualError(t, l.Lend(12, nil), "rewind: to is nil; it must be a function to lend the world to")
	advance(t, l, 2)
	present := *l.State()
	require.NoError(t, l.Supply(0, 12, 99))
	refused(13, rewind.ErrUnsettled)
	require.NoError(t, l.Lend(12, func(w *world) { require.Equal(t, want[12], *w) }), "the control: right up to there")
	require.Equal(t, present, *l.State())
	again, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 12, To: 14}, again, "what was to be settled still is")
}

func TestWhoPanicsWithALentWorldEndsTheLoop(t *testing.T) {
	l, _, _ := newLent(t, 5, moving)
	require.PanicsWithValue(t, "a bug in the game", func() { _ = l.Lend(3, func(*world) { panic("a bug in the game") }) })
	for name, err := range methods(l) {
		require.ErrorIs(t, err, rewind.ErrRunning, name)
	}
}

// halfway is a store that fails in some of its calls, when half is done.
type halfway struct {
	snapshot.Store[world]
	fails func(load int) bool // the loads are counted from 0; −1: a save
	loads int
}

func (h *halfway) Save(i int, w *world) error {
	if h.fails(-1) {
		return errDisk
	}
	return h.Store.Save(i, w)
}

func (h *halfway) Load(i int, w *world) error {
	h.loads++
	if h.fails(h.loads - 1) {
		w.Tick = 1 << 40
		return errDisk
	}
	return h.Store.Load(i, w)
}

func TestAWorldThatCannotBeLentLeavesThePresentOrASettleBringsItBack(t *testing.T) {
	for name, c := range map[string]struct {
		fails      func(load int) bool
		says       string
		lent, lost bool
	}{
		"the present cannot be saved": {
			fails: func(load int) bool { return load < 0 }, says: "the state of tick 5 cannot be saved",
		},
		"the past cannot be loaded": {
			fails: func(load int) bool { return load == 0 }, says: "the state of tick 3 cannot be taken back",
		},
		"the present cannot be loaded": {
			fails: func(load int) bool { return load == 1 }, says: "the state of tick 5 cannot be taken back",
			lent: true, lost: true,
		},
		"nothing can be loaded": {
			fails: func(load int) bool { return load >= 0 }, says: "the state of tick 3 cannot be taken back",
			lost: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sound := func(int) bool { return false }
			store := &halfway{fails: sound}
			l, _, want := newLent(t, 5, func(places int) (s snapshot.Store[world], err error) {
				store.Store, err = moving(places)
				return store, err
			})
			store.fails = c.fails
			lent := false
			err := l.Lend(3, func(*world) { lent = true })
			require.ErrorIs(t, err, rewind.ErrStore)
			require.ErrorIs(t, err, errDisk)
			require.EqualError(t, err, "rewind: the store failed: "+c.says+": no room")
			require.Equal(t, c.lent, lent)
			require.Equal(t, driftback.Tick(5), l.Next())
			require.Equal(t, c.lost, *l.State() != want[5])

			store.fails = sound
			again, err := l.Settle()
			require.NoError(t, err)
			require.Equal(t, c.lost, again == rewind.Span{From: 3, To: 5})
			require.Equal(t, want[5], *l.State())
			require.NoError(t, l.Lend(3, func(w *world) { require.Equal(t, want[3], *w) }))
		})
	}
}

// A loop that forgot to bring the present back, or lent another tick, would be noticed
// above: here the store does so.
func TestAPlantedFaultInWhatIsLentIsNoticed(t *testing.T) {
	for name, wrong := range map[string]func(place int) int{
		"the present is not brought back": func(place int) int { return 3 },
		"another tick is lent":            func(place int) int { return min(place+1, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			store := &misplacing{}
			l, _, want := newLent(t, 5, func(places int) (s snapshot.Store[world], err error) {
				store.Store, err = moving(places)
				return store, err
			})
			store.wrong = wrong
			right := true
			require.NoError(t, l.Lend(3, func(w *world) { right = *w == want[3] }))
			require.False(t, right && *l.State() == want[5])
		})
	}
}

type misplacing struct {
	snapshot.Store[world]
	wrong func(place int) int
}

func (m *misplacing) Load(i int, w *world) error { return m.Store.Load(m.wrong(i), w) }
