package rewind_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// run is what one pass showed.
type run struct {
	tick     driftback.Tick
	statuses [3]driftback.Status
	raised   int
}

func TestEveryRunOfEveryTickHasItsPass(t *testing.T) {
	const playing, replaced, absent = driftback.Playing, driftback.Replaced, driftback.Absent
	var inStep, after []run
	see := func(pass *driftback.Pass) run {
		r := run{tick: pass.Tick(), raised: len(pass.Raised())}
		for p := range r.statuses {
			r.statuses[p] = pass.Status(driftback.Participant(p))
		}
		return r
	}
	l, _ := newLoop(t, 2, 8, func(c *rewind.Config[world, uint16]) {
		c.Step = func(w *world, in []uint16, pass *driftback.Pass) {
			inStep = append(inStep, see(pass))
			step(w, in, pass)
			if in[1] == 7 {
				pass.Raise(driftback.Effect{Kind: 1})
			}
		}
		c.Statuses = func(tick driftback.Tick, dst []driftback.Status) {
			clear(dst)
			if tick >= 2 {
				dst[1] = replaced
			}
		}
		c.Ran = func(pass *driftback.Pass) { after = append(after, see(pass)) }
	})
	advance(t, l, 3)
	require.NoError(t, l.Supply(1, 1, 7))
	again, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 1, To: 3}, again)
	one, two := [3]driftback.Status{playing, playing, absent}, [3]driftback.Status{playing, replaced, absent}
	require.Equal(t, []run{{0, one, 0}, {1, one, 0}, {2, two, 0}, {1, one, 0}, {2, two, 0}}, inStep, "a pass begins empty")
	require.Equal(t, []run{{0, one, 0}, {1, one, 0}, {2, two, 0}, {1, one, 1}, {2, two, 1}}, after)

	all, _ := newLoop(t, 2, 8, func(c *rewind.Config[world, uint16]) {
		c.Ran = func(pass *driftback.Pass) { after = append(after, see(pass)) }
	})
	advance(t, all, 1)
	require.Equal(t, run{0, one, 0}, after[len(after)-1], "without Statuses everybody plays")
}

// methods are all that would run or move a loop.
func methods(l *loop) map[string]error {
	var w world
	_, settle := l.Settle()
	_, advance := l.Advance()
	_, reconcile := l.Reconcile(0, &w)
	return map[string]error{
		"Settle": settle, "Advance": advance, "Reconcile": reconcile,
		"Supply": l.Supply(0, 0, 1), "RewindTo": l.RewindTo(0), "Snapshot": l.Snapshot(0, &w),
		"Lend": l.Lend(0, func(*world) {}), "Apart": l.Apart(func(*world) {}), "Redo": l.Redo(0),
	}
}

func TestAStepThatCallsItsLoopIsRefused(t *testing.T) {
	calls := 0
	var l *loop
	refused := func() {
		calls++
		for name, err := range methods(l) {
			require.ErrorIs(t, err, rewind.ErrRunning, name)
		}
	}
	l, _ = newLoop(t, 1, 4, func(c *rewind.Config[world, uint16]) {
		c.Step = func(w *world, in []uint16, pass *driftback.Pass) {
			refused()
			step(w, in, pass)
		}
		c.Ran = func(*driftback.Pass) { refused() }
		c.Statuses = func(driftback.Tick, []driftback.Status) { refused() }
	})
	advance(t, l, 2)
	require.Equal(t, 6, calls)
	require.Equal(t, oracle([][]uint16{{0}, {0}})[2], *l.State(), "the calls did nothing")
	require.Equal(t, rewind.Counts{Steps: 2, Saves: 2}, l.Counts())
	for name, err := range methods(l) {
		require.NotErrorIs(t, err, rewind.ErrRunning, "the control: outside the step %s is allowed", name)
	}
}

func TestAStepThatPanicsEndsTheLoop(t *testing.T) {
	broken := false
	l, _ := newLoop(t, 1, 4, func(c *rewind.Config[world, uint16]) {
		c.Step = func(w *world, in []uint16, pass *driftback.Pass) {
			w.Tick++
			if broken {
				panic("a bug in the game")
			}
			w.Tick--
			step(w, in, pass)
		}
	})
	advance(t, l, 2)
	broken = true
	require.PanicsWithValue(t, "a bug in the game", func() { _, _ = l.Advance() }, "the game's own panic, untouched")
	broken = false
	for name, err := range methods(l) {
		require.ErrorIs(t, err, rewind.ErrRunning, name)
	}
	require.Equal(t, driftback.Tick(2), l.Next())
}

// failing is a store that fails when it is told to.
type failing struct {
	snapshot.Store[world]
	save, load bool
}

var errDisk = errors.New("no room")

func (f *failing) Save(i int, w *world) error {
	if f.save {
		return errDisk
	}
	return f.Store.Save(i, w)
}

func (f *failing) Load(i int, w *world) error {
	if f.load {
		return errDisk
	}
	return f.Store.Load(i, w)
}

func TestAStateThatCannotBeSavedStopsNothingForGood(t *testing.T) {
	store := &failing{}
	l, _ := newLoop(t, 1, 8, func(c *rewind.Config[world, uint16]) {
		c.Save = func(places int) (snapshot.Store[world], error) {
			s, err := snapshot.For[world](places)
			store.Store = s
			return store, err
		}
	})
	advance(t, l, 4)
	store.save = true
	_, err := l.Advance()
	require.ErrorIs(t, err, errDisk)
	require.EqualError(t, err, "rewind: the store failed: the state of tick 4 cannot be saved: no room")
	require.Equal(t, driftback.Tick(4), l.Next())

	require.NoError(t, l.Supply(0, 1, 7))
	again, err := l.Settle()
	require.EqualError(t, err, "rewind: the store failed: the state of tick 2 cannot be saved: no room")
	require.Zero(t, again)
	var w world
	require.ErrorIs(t, l.Snapshot(3, &w), rewind.ErrUnsettled)
	_, err = l.Advance()
	require.ErrorIs(t, err, errDisk, "what is not settled holds the next tick back")

	store.save, store.load = false, true
	_, err = l.Settle()
	require.EqualError(t, err, "rewind: the store failed: the state of tick 1 cannot be taken back: no room")
	require.ErrorIs(t, l.RewindTo(1), errDisk)
	require.ErrorIs(t, l.RewindTo(3), errDisk)

	store.load = false
	again, err = l.Advance()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 1, To: 4}, again)
	want := oracle([][]uint16{{0}, {7}, {7}, {7}, {7}})[5]
	require.Equal(t, want, *l.State())

	store.load = true
	require.EqualError(t, l.RewindTo(3), "rewind: the store failed: the state of tick 3 cannot be taken back: no room")
	require.Equal(t, driftback.Tick(5), l.Next())
	*l.State() = world{} // what a load that failed half-way may leave
	store.load = false
	_, err = l.Settle()
	require.NoError(t, err)
	require.Equal(t, want, *l.State())

	truth := world{Mixed: 42}
	store.load = true
	_, err = l.Reconcile(3, &truth)
	require.ErrorIs(t, err, errDisk)
	store.load = false
	again, err = l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 3, To: 5}, again)
	step(&truth, []uint16{7}, nil)
	step(&truth, []uint16{7}, nil)
	require.Equal(t, truth, *l.State(), "the truth was told, and holds")
}

func TestAWarmLoopDoesNotAllocate(t *testing.T) {
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			l, log := newLoop(t, 2, 8, func(c *rewind.Config[world, uint16]) { c.Save = policy })
			failed, lent := 0, 0
			// One for all calls, as its owner would have it.
			looks := []func(*world){func(*world) { lent++ }}
			play := func() {
				tick := l.Next()
				err := l.Supply(0, tick, uint16(tick))
				if late := tick - 6; late >= 0 && err == nil {
					err = l.Supply(1, late, uint16(tick))
				}
				if _, settled := l.Settle(); settled != nil || err != nil {
					failed++
				}
				if _, err := l.Advance(); err != nil {
					failed++
				}
				if l.Lend(l.Next()-1, looks[0]) != nil {
					failed++
				}
				log.Forget(l.Oldest())
			}
			for range 20 {
				play()
			}
			before := l.Counts()
			require.Zero(t, testing.AllocsPerRun(100, play))
			require.Zero(t, failed)
			require.Equal(t, 20+101, lent)
			require.Equal(t, uint64(101*6), l.Counts().Resimulated-before.Resimulated, "every call goes back six ticks")
		})
	}
}
