package rewind_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	type config = rewind.Config[world, uint16]
	newLog := func(depth int) *inputlog.Log[uint16] {
		l, err := inputlog.New(inputlog.Config[uint16]{Participants: 1, Depth: depth, Neutral: []int{2}})
		require.NoError(t, err)
		return l
	}
	moved := newLog(8)
	moved.Forget(2)
	for name, c := range map[string]struct {
		change func(c *config)
		want   string
	}{
		"no step":                       {func(c *config) { c.Step = nil }, "rewind: Step is nil; it must be the game's step"},
		"no log":                        {func(c *config) { c.Inputs = nil }, "rewind: Inputs is nil; it must be a log made by inputlog.New"},
		"no depth":                      {func(c *config) { c.Depth = 0 }, "rewind: Depth is 0 snapshots; it must be 2 to 4096"},
		"one snapshot":                  {func(c *config) { c.Depth = 1 }, "rewind: Depth is 1 snapshots; it must be 2 to 4096"},
		"snapshots without bound":       {func(c *config) { c.Depth = 4097 }, "rewind: Depth is 4097 snapshots; it must be 2 to 4096"},
		"a log that has moved":          {func(c *config) { c.Inputs = moved }, "rewind: Inputs has a window that begins at tick 2; it must begin at First, which is 0"},
		"a first tick before the log's": {func(c *config) { c.First = -1 }, "rewind: Inputs has a window that begins at tick 0; it must begin at First, which is -1"},
		"a first tick beyond the log's": {func(c *config) { c.First = 1 }, "rewind: Inputs has a window that begins at tick 0; it must begin at First, which is 1"},
		"a log shorter than the ring":   {func(c *config) { c.Depth = 9 }, "rewind: Inputs holds 8 ticks; it must hold at least Depth, which is 9"},
		"a state that cannot be kept": {func(c *config) {
			c.Save = func(int) (snapshot.Store[world], error) { return nil, errors.New("not this one") }
		}, "rewind: Save cannot keep the state: not this one"},
		"a policy that makes nothing": {func(c *config) {
			c.Save = func(int) (snapshot.Store[world], error) { return nil, nil }
		}, "rewind: Save returned neither a store nor an error; it must return one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			good := config{Step: step, Inputs: newLog(8), Depth: 8}
			_, err := rewind.New(good)
			require.NoError(t, err)
			c.change(&good)
			l, err := rewind.New(good)
			require.EqualError(t, err, c.want)
			require.Nil(t, l)
		})
	}
}

func TestTheOwnerMaySetTheWorldUpBeforeTheFirstTick(t *testing.T) {
	l, _ := newLoop(t, 1, 4, func(c *rewind.Config[world, uint16]) { c.Initial = &world{Mixed: 3} })
	require.Equal(t, world{Mixed: 3}, *l.State())
	l.State().Mixed = 9
	advance(t, l, 2)
	require.Equal(t, world{Mixed: 9}, snapshotOf(t, l, 0))
	require.NoError(t, l.RewindTo(0))
	require.Equal(t, world{Mixed: 9}, *l.State())
}

// There is nothing to take back when tick 0 has not run, and when it is the next to
// run again.
func TestALateInputForTickZeroBeforeTickOneRan(t *testing.T) {
	want := oracle([][]uint16{{0, 7}, {0, 7}})
	t.Run("tick 0 has not run", func(t *testing.T) {
		l, _ := newLoop(t, 2, 4)
		require.NoError(t, l.Supply(1, 0, 7))
		again, err := l.Settle()
		require.NoError(t, err)
		require.Zero(t, again)
		advance(t, l, 1)
		require.Equal(t, want[1], *l.State())
		require.Zero(t, l.Counts().Loads)
	})
	t.Run("tick 0 has run and is about to run again", func(t *testing.T) {
		l, _ := newLoop(t, 2, 4)
		advance(t, l, 1)
		require.NoError(t, l.RewindTo(0))
		loads := l.Counts().Loads
		require.NoError(t, l.Supply(1, 0, 7)) // differs from the guess of the run that was dropped
		again, err := l.Settle()
		require.NoError(t, err)
		require.Zero(t, again)
		require.Equal(t, loads, l.Counts().Loads)
		advance(t, l, 1)
		require.Equal(t, want[1], *l.State())
	})
	t.Run("the control: tick 0 has run on a wrong guess", func(t *testing.T) {
		l, _ := newLoop(t, 2, 4)
		advance(t, l, 1)
		require.NotEqual(t, want[1], *l.State())
		require.NoError(t, l.Supply(1, 0, 7))
		again, err := l.Settle()
		require.NoError(t, err)
		require.Equal(t, rewind.Span{From: 0, To: 1}, again)
		require.Equal(t, want[1], *l.State())
		require.Equal(t, uint64(1), l.Counts().Loads)
	})
}

func TestARewindAcrossTheWholeWindow(t *testing.T) {
	for window := 1; window <= 9; window++ {
		for _, before := range []int{0, 1, 5, 23} { // ticks confirmed in time first
			t.Run(fmt.Sprintf("of %d after %d ticks", window, before), func(t *testing.T) {
				table := make([][]uint16, before+window)
				for i := range table {
					table[i] = []uint16{0, 7}
				}
				want := oracle(table)
				play := func(depth int) *loop {
					l, log := newLoop(t, 2, depth)
					for tick := range driftback.Tick(before) {
						require.NoError(t, l.Supply(0, tick, 0))
						require.NoError(t, l.Supply(1, tick, 7))
						advance(t, l, 1)
						log.Forget(l.Oldest())
					}
					for tick := range driftback.Tick(window) {
						require.NoError(t, l.Supply(0, driftback.Tick(before)+tick, 0))
					}
					advance(t, l, window)
					return l
				}
				first := driftback.Tick(before)
				wrong := uint16(3) // the guess repeats 7, or 0 at the very beginning

				l := play(window + 1)
				require.LessOrEqual(t, l.Oldest(), first)
				if before > 0 {
					require.Equal(t, first, l.Oldest(), "exactly the window is kept")
				}
				require.NoError(t, l.Supply(1, first, wrong))
				again, err := l.Settle()
				require.NoError(t, err)
				require.Equal(t, rewind.Span{From: first, To: first + driftback.Tick(window)}, again)
				require.Equal(t, window, l.Counts().Deepest)
				for tick := first; tick < l.Next(); tick++ {
					table[tick] = []uint16{0, wrong}
				}
				require.NotEqual(t, want[len(table)], *l.State())
				want = oracle(table)
				require.Equal(t, want[len(table)], *l.State())
				for tick := l.Oldest(); tick <= l.Next(); tick++ {
					require.Equal(t, want[tick], snapshotOf(t, l, tick), "tick %d", tick)
				}

				// The control: with one snapshot fewer the same input comes too late, and
				// that is said.
				if before == 0 || window == 1 {
					return
				}
				short := play(window)
				was := *short.State()
				err = short.Supply(1, first, wrong)
				require.ErrorIs(t, err, rewind.ErrOutOfReach)
				require.EqualError(t, err, fmt.Sprintf("rewind: out of reach: participant 1's input for tick %d was guessed wrongly, and the oldest snapshot is of tick %d; keep more than %d snapshots, or let fewer ticks run on guesses",
					first, first+1, window))
				again, err = short.Settle()
				require.NoError(t, err)
				require.Zero(t, again)
				require.Equal(t, was, *short.State())
			})
		}
	}
}

func TestManyLateInputsAreOneRollback(t *testing.T) {
	l, _ := newLoop(t, 3, 9)
	advance(t, l, 6)
	for _, tick := range []driftback.Tick{4, 2, 5, 3} {
		require.NoError(t, l.Supply(1, tick, 7))
		require.NoError(t, l.Supply(2, tick, 8))
	}
	var unsettled world
	require.NoError(t, l.Snapshot(2, &unsettled), "up to the wrong guess every snapshot is right")
	err := l.Snapshot(3, &unsettled)
	require.ErrorIs(t, err, rewind.ErrUnsettled)
	require.EqualError(t, err, "rewind: not settled: the snapshot of tick 3 rests on a wrong guess for tick 2; call Settle first")
	again, err := l.Advance()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 2, To: 6}, again, "the tick that is new is not among them")
	require.Equal(t, 4, again.Len())
	require.Equal(t, uint64(1), l.Counts().Rollbacks)
	want := oracle([][]uint16{{0, 0, 0}, {0, 0, 0}, {0, 7, 8}, {0, 7, 8}, {0, 7, 8}, {0, 7, 8}, {0, 7, 8}})
	require.Equal(t, want[7], *l.State())
	require.Equal(t, want[3], snapshotOf(t, l, 3))
	again, err = l.Settle()
	require.NoError(t, err)
	require.Zero(t, again.Len(), "once is enough")
}

func TestARightGuessCostsNothing(t *testing.T) {
	l, log := newLoop(t, 2, 5)
	require.NoError(t, l.Supply(1, 0, 7))
	advance(t, l, 4)
	before := l.Counts()
	require.NoError(t, l.Supply(1, 1, 7))
	require.NoError(t, l.Supply(1, 2, 7))
	again, err := l.Settle()
	require.NoError(t, err)
	require.Zero(t, again)
	require.Equal(t, before, l.Counts())
	require.Equal(t, driftback.Tick(3), log.ConfirmedOf(1))
	require.NoError(t, l.Supply(1, 3, 8), "the control: a wrong one")
	again, err = l.Settle()
	require.NoError(t, err)
	require.Equal(t, 1, again.Len())
}

// A guess is made anew when its tick is run again: after one late input the ticks
// behind it are guessed from that, and need no second rollback when it was held.
func TestAReSimulationGuessesAnew(t *testing.T) {
	l, log := newLoop(t, 1, 9)
	advance(t, l, 6)
	require.NoError(t, l.Supply(0, 2, 7))
	in, confirmed, ok := log.Peek(0, 4)
	require.True(t, ok)
	require.False(t, confirmed)
	require.Zero(t, in, "until it is run again the stored guess stays")
	_, err := l.Settle()
	require.NoError(t, err)
	in, _, _ = log.Peek(0, 4)
	require.Equal(t, uint16(7), in)
	for tick := driftback.Tick(3); tick < 6; tick++ {
		require.NoError(t, l.Supply(0, tick, 7))
	}
	again, err := l.Settle()
	require.NoError(t, err)
	require.Zero(t, again)
	require.Equal(t, uint64(1), l.Counts().Rollbacks)
	require.NoError(t, l.Supply(0, 0, 7), "the control: the guess before it was made from nothing")
	again, err = l.Settle()
	require.NoError(t, err)
	require.Equal(t, rewind.Span{From: 0, To: 6}, again)
}

// Two machines, an input delay of two ticks, and both keys down from the first tick
// on: the ticks before the delay belong to nobody, on both machines.
func TestAKeyHeldFromTheFirstTickDoesNotPartTheWorlds(t *testing.T) {
	const delay, ticks = 2, 10
	table := make([][]uint16, ticks)
	for tick := range table {
		table[tick] = []uint16{0, 0}
		if tick >= delay {
			table[tick] = []uint16{5, 6}
		}
	}
	want := oracle(table)
	play := func(self driftback.Participant, neutral []int) (world, rewind.Counts) {
		log, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 32, Neutral: neutral})
		require.NoError(t, err)
		l, err := rewind.New(rewind.Config[world, uint16]{Step: step, Inputs: log, Depth: 9})
		require.NoError(t, err)
		for tick := range driftback.Tick(ticks) {
			if tick >= delay {
				require.NoError(t, l.Supply(self, tick, table[tick][self]))
			}
			if late := tick - 3; late >= delay {
				require.NoError(t, l.Supply(1-self, late, table[late][1-self]))
			}
			_, err := l.Advance()
			require.NoError(t, err)
			if confirmed := log.Confirmed(); confirmed >= 1 {
				require.Equal(t, want[min(confirmed, l.Next())], snapshotOf(t, l, min(confirmed, l.Next())))
			}
		}
		require.Equal(t, driftback.Tick(7), log.Confirmed())
		return snapshotOf(t, l, 5), l.Counts()
	}
	ours, counts := play(0, []int{delay, delay})
	theirs, _ := play(1, []int{delay, delay})
	require.Equal(t, want[5], ours)
	require.Equal(t, want[5], theirs)
	require.Equal(t, uint64(1), counts.Rollbacks, "the key that is down after the delay is the only surprise")

	// The control: without neutral ticks nothing is ever confirmed.
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 32})
	require.NoError(t, err)
	for tick := driftback.Tick(delay); tick < ticks; tick++ {
		for p := range driftback.Participant(2) {
			_, err := log.Confirm(p, tick, 5)
			require.NoError(t, err)
		}
	}
	require.Zero(t, log.Confirmed())
}

func TestAnInputOutsideTheWindowIsRefusedAndChangesNothing(t *testing.T) {
	l, _ := newLoop(t, 2, 5)
	advance(t, l, 3)
	was := l.Counts()
	for _, tick := range []driftback.Tick{32, 1 << 40, -1} {
		require.ErrorIs(t, l.Supply(1, tick, 7), inputlog.ErrOutsideWindow)
	}
	require.ErrorIs(t, l.Supply(2, 0, 7), inputlog.ErrNoParticipant)
	require.NoError(t, l.Supply(1, 31, 7), "the control: the last tick of the window")
	require.NoError(t, l.Supply(0, 1, 4))
	require.ErrorIs(t, l.Supply(0, 1, 5), inputlog.ErrConflict)
	_, err := l.Settle()
	require.NoError(t, err)
	require.Equal(t, was.Steps+2, l.Counts().Steps, "only the input that was taken runs anything again")
}

func TestAdvanceSaysWhenTheLogIsFull(t *testing.T) {
	l, log := newLoop(t, 2, 5)
	advance(t, l, 32)
	_, err := l.Advance()
	require.ErrorIs(t, err, inputlog.ErrOutsideWindow)
	require.Equal(t, driftback.Tick(32), l.Next(), "nothing was run")
	require.Equal(t, driftback.Tick(28), l.Oldest(), "and no snapshot gave way")
	for p := range driftback.Participant(2) {
		for tick := range driftback.Tick(4) {
			_, err := log.Confirm(p, tick, 0)
			require.NoError(t, err)
		}
	}
	log.Forget(l.Oldest())
	advance(t, l, 4) // the control: what has been forgotten makes room
}

func TestRewindTo(t *testing.T) {
	want := oracle([][]uint16{{1}, {2}, {3}, {4}, {5}, {6}, {7}})
	l, _ := newLoop(t, 1, 5)
	for tick := range driftback.Tick(7) {
		require.NoError(t, l.Supply(0, tick, uint16(tick+1)))
	}
	advance(t, l, 7)
	require.Equal(t, driftback.Tick(3), l.Oldest(), "four ticks can be taken back with five snapshots")
	for _, tick := range []driftback.Tick{2, -1, 8, 1 << 40} {
		err := l.RewindTo(tick)
		require.ErrorIs(t, err, rewind.ErrOutOfReach)
		require.EqualError(t, err, fmt.Sprintf("rewind: out of reach: tick %d is not from 3, the oldest snapshot, to 7, the next tick", tick))
		var w world
		require.ErrorIs(t, l.Snapshot(tick, &w), rewind.ErrOutOfReach)
		_, err = l.Reconcile(tick, &w)
		require.ErrorIs(t, err, rewind.ErrOutOfReach)
	}
	require.Equal(t, want[7], *l.State())
	require.NoError(t, l.RewindTo(7))
	require.Equal(t, want[7], *l.State())
	for _, tick := range []driftback.Tick{6, 4, 3} {
		require.NoError(t, l.RewindTo(tick))
		require.Equal(t, tick, l.Next())
		require.Equal(t, want[tick], *l.State())
	}
	require.ErrorIs(t, l.RewindTo(4), rewind.ErrOutOfReach, "the snapshots after it are dropped")
	advance(t, l, 4)
	require.Equal(t, want[7], *l.State(), "the inputs are not")
}

func TestRewindToAWorldThatRestsOnAWrongGuess(t *testing.T) {
	l, _ := newLoop(t, 1, 8)
	advance(t, l, 6)
	require.NoError(t, l.Supply(0, 2, 7))
	require.NoError(t, l.Supply(0, 5, 9))
	require.NoError(t, l.RewindTo(4))
	want := oracle([][]uint16{{0}, {0}, {7}, {7}, {7}, {9}})
	require.Equal(t, want[4], *l.State())
	require.Equal(t, want[3], snapshotOf(t, l, 3))
	advance(t, l, 2)
	require.Equal(t, want[6], *l.State())
}

func TestReconcile(t *testing.T) {
	truth := world{Tick: 100, Mixed: 42}
	after := func(ins ...uint16) world {
		w := truth
		for _, in := range ins {
			step(&w, []uint16{in}, nil)
		}
		return w
	}
	newFive := func(t *testing.T) *loop {
		l, _ := newLoop(t, 1, 8)
		for tick := range driftback.Tick(5) {
			require.NoError(t, l.Supply(0, tick, uint16(tick)))
		}
		advance(t, l, 6)
		return l
	}
	t.Run("replays the inputs since", func(t *testing.T) {
		l := newFive(t)
		again, err := l.Reconcile(3, &truth)
		require.NoError(t, err)
		require.Equal(t, rewind.Span{From: 3, To: 6}, again)
		require.Equal(t, after(3, 4, 4), *l.State(), "the last was guessed")
		require.Equal(t, truth, snapshotOf(t, l, 3))
		require.Equal(t, after(3), snapshotOf(t, l, 4))
		require.Equal(t, driftback.Tick(6), l.Next())
		require.Equal(t, driftback.Tick(3), l.Oldest(), "what was before leads to another world")
		require.ErrorIs(t, l.RewindTo(2), rewind.ErrOutOfReach)
		require.NoError(t, l.RewindTo(3))
		require.Equal(t, truth, *l.State())
	})
	t.Run("of the present replays nothing", func(t *testing.T) {
		l := newFive(t)
		again, err := l.Reconcile(6, &truth)
		require.NoError(t, err)
		require.Zero(t, again)
		require.Equal(t, truth, *l.State())
		require.Equal(t, driftback.Tick(6), l.Oldest())
		advance(t, l, 1)
		require.Equal(t, after(4), *l.State())
	})
	t.Run("settles what it contains", func(t *testing.T) {
		l, _ := newLoop(t, 1, 8)
		advance(t, l, 6)
		require.NoError(t, l.Supply(0, 1, 9)) // in the truth of tick 3
		again, err := l.Reconcile(3, &truth)
		require.NoError(t, err)
		require.Equal(t, rewind.Span{From: 3, To: 6}, again)
		require.Equal(t, after(9, 9, 9), *l.State())
		require.NoError(t, l.Supply(0, 2, 8), "in it as well, and no longer in reach")
		again, err = l.Settle()
		require.NoError(t, err)
		require.Zero(t, again)
		require.NoError(t, l.Supply(0, 3, 7), "the control: not in it")
		again, err = l.Settle()
		require.NoError(t, err)
		require.Equal(t, rewind.Span{From: 3, To: 6}, again)
		require.Equal(t, after(7, 7, 7), *l.State())
	})
	t.Run("wants a truth", func(t *testing.T) {
		l := newFive(t)
		was := *l.State()
		_, err := l.Reconcile(3, nil)
		require.EqualError(t, err, "rewind: truth is nil; it must be the world as the tick began")
		require.EqualError(t, l.Snapshot(3, nil), "rewind: into is nil; it must be a state to copy into")
		require.Equal(t, was, *l.State())
	})
}

// bag is a state that shares memory with a copy made by assignment.
type bag struct{ Things []uint16 }

func (b *bag) CopyTo(to *bag) { to.Things = append(to.Things[:0], b.Things...) }

func TestWhatIsCopiedSharesNothing(t *testing.T) {
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: 1, Depth: 8})
	require.NoError(t, err)
	l, err := rewind.New(rewind.Config[bag, uint16]{Step: func(b *bag, in []uint16, _ *driftback.Pass) {
		b.Things = append(b.Things, in[0])
		b.Things[0]++
	}, Inputs: log, Depth: 4})
	require.NoError(t, err)
	for range 3 {
		_, err := l.Advance()
		require.NoError(t, err)
	}
	var present, past bag
	require.NoError(t, l.Snapshot(3, &present))
	require.NoError(t, l.Snapshot(1, &past))
	truth := bag{Things: []uint16{50}}
	_, err = l.Reconcile(2, &truth)
	require.NoError(t, err)
	_, err = l.Advance()
	require.NoError(t, err)
	require.Equal(t, []uint16{52, 0, 0}, l.State().Things)
	require.Equal(t, []uint16{50}, truth.Things)
	require.Equal(t, []uint16{3, 0, 0}, present.Things)
	require.Equal(t, []uint16{1}, past.Things)
}

func TestCountsAreExact(t *testing.T) {
	l, _ := newLoop(t, 2, 20)
	require.Zero(t, l.Counts())
	advance(t, l, 3)
	require.Equal(t, rewind.Counts{Steps: 3, Saves: 3}, l.Counts())

	require.NoError(t, l.Supply(1, 1, 7))
	_, err := l.Settle() // ticks 1 and 2, one snapshot on the way
	require.NoError(t, err)
	want := rewind.Counts{Steps: 5, Resimulated: 2, Rollbacks: 1, Saves: 4, Loads: 1, Deepest: 2}
	want.Depths[1] = 1
	require.Equal(t, want, l.Counts())

	require.NoError(t, l.Supply(1, 2, 8))
	_, err = l.Advance() // tick 2 with none on the way, then tick 3
	require.NoError(t, err)
	want.Steps, want.Resimulated, want.Rollbacks, want.Saves, want.Loads = 7, 3, 2, 5, 2
	want.Depths[0] = 1
	require.Equal(t, want, l.Counts())

	advance(t, l, 15)
	require.NoError(t, l.Supply(0, 0, 1))
	_, err = l.Settle() // ticks 0 to 18
	require.NoError(t, err)
	want.Steps, want.Resimulated, want.Rollbacks, want.Deepest = 7+15+19, 3+19, 3, 19
	want.Saves, want.Loads = 5+15+18, 3
	want.Depths[rewind.DepthBuckets-1] = 1
	require.Equal(t, want, l.Counts())

	var w world
	require.NoError(t, l.Snapshot(5, &w))
	want.Loads++
	require.NoError(t, l.Snapshot(19, &w))
	want.Saves, want.Loads = want.Saves+1, want.Loads+1
	require.NoError(t, l.Lend(5, func(*world) {})) // the present makes way, and comes back
	want.Saves, want.Loads = want.Saves+1, want.Loads+2
	require.NoError(t, l.Lend(19, func(*world) {}))
	require.Equal(t, want, l.Counts(), "the present is there already")
	_, err = l.Reconcile(16, &w) // ticks 16 to 18
	require.NoError(t, err)
	want.Steps, want.Resimulated, want.Rollbacks = want.Steps+3, want.Resimulated+3, want.Rollbacks+1
	want.Saves, want.Loads = want.Saves+1+2, want.Loads+1
	want.Depths[2] = 1
	require.Equal(t, want, l.Counts())
	require.NoError(t, l.RewindTo(17))
	want.Loads++
	require.Equal(t, want, l.Counts())
	require.NoError(t, l.RewindTo(17))
	require.Equal(t, want, l.Counts(), "the present is there already")

	rollbacks := uint64(0)
	for _, n := range want.Depths {
		rollbacks += n
	}
	require.Equal(t, want.Rollbacks, rollbacks)
}
