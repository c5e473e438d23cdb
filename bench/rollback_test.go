package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// rollbackDepths are the ticks that a rollback runs again.
var rollbackDepths = []int{1, 2, 4, 8}

// BenchmarkRollback measures going back and running the ticks since then again. In
// each operation a tick passes, one input of the other participant arrives so many
// ticks late, and the guess was wrong. ns/op is the rollback alone: from the time
// of such an operation the time of one in which the guess was right is subtracted.
//
// x-of-bare-loop is that time over what a bare loop takes to copy and step the same
// bytes: one copy back, then every tick's step and, but for the first and the one
// about to run, its snapshot. x-of-bare-tick is the same with nothing subtracted:
// the whole tick, with the rollback and the recording of both inputs, over a bare
// loop's rollback and tick.
func BenchmarkRollback(b *testing.B) {
	b.Run("256B", rollbacks[[32]uint64])
	b.Run("4KiB", rollbacks[[512]uint64])
	b.Run("64KiB", rollbacks[[8 << 10]uint64])
	b.Run("1MiB", rollbacks[[128 << 10]uint64])
}

// BenchmarkRollbackOfOneSave is the same where the engine puts away no more states than the next rollback
// can need, which of both loops is one for each: copy back, every tick's step, and one snapshot.
func BenchmarkRollbackOfOneSave(b *testing.B) {
	b.Run("256B", func(b *testing.B) { rollback[[32]uint64](b, 8, once, spaced) })
	b.Run("4KiB", func(b *testing.B) { rollback[[512]uint64](b, 8, once, spaced) })
	b.Run("64KiB", func(b *testing.B) { rollback[[8 << 10]uint64](b, 8, once, spaced) })
	b.Run("1MiB", func(b *testing.B) { rollback[[128 << 10]uint64](b, 8, once, spaced) })
}

// BenchmarkRollbackOfTouchedPages is the same where the step says what it writes and only that is copied. The bare loop, which
// copies everything, makes one snapshot for each rollback.
func BenchmarkRollbackOfTouchedPages(b *testing.B) {
	b.Run("256B", touchedPages[[32]uint64])
	b.Run("4KiB", touchedPages[[512]uint64])
	b.Run("64KiB", touchedPages[[8 << 10]uint64])
	b.Run("1MiB", touchedPages[[128 << 10]uint64])
}

func touchedPages[W world](b *testing.B) {
	b.Run("every tick", func(b *testing.B) { rollback[W](b, 8, once, touched) })
	b.Run("one save", func(b *testing.B) { rollback[W](b, 8, once, spaced, touched) })
}

func rollbacks[W world](b *testing.B) {
	for _, ticks := range rollbackDepths {
		b.Run(fmt.Sprintf("%dticks", ticks), func(b *testing.B) { rollback[W](b, ticks) })
	}
}

// saving is how states are saved, beside what is usual.
type saving int

const (
	spaced  saving = iota // the engine puts away no more states than it must
	once                  // nor does the bare loop
	touched               // the engine copies what the step has said that it writes
)

func rollback[W world](b *testing.B, ticks int, how ...saving) {
	wrong, right := newLate[W](b, ticks, 1, how...), newLate[W](b, ticks, 0, how...)
	bareWrong, bareRight := newBare[W](ticks, ticks), newBare[W](ticks, 0)
	if slices.Contains(how, once) {
		bareWrong.once, bareRight.once = true, true
	}
	wrong.play(ticks) // from here on every tick goes back
	bareWrong.play(ticks)

	// About 20 µs at any size, but at least one.
	round := max(1, min(64, 1<<16/len(*wrong.loop.State())/ticks))
	before := wrong.loop.Counts()
	took := takeTurns(b.N, round, wrong.play, bareWrong.play, right.play, bareRight.play)
	after := wrong.loop.Counts()
	ops := after.Rollbacks - before.Rollbacks
	require.GreaterOrEqual(b, ops, uint64(b.N), "every operation goes back")
	require.Equal(b, ops*uint64(ticks), after.Resimulated-before.Resimulated, "by as many ticks as the row says")
	require.Zero(b, right.loop.Counts().Rollbacks, "what is subtracted holds no rollback")

	engine, bare := median(minus(took[0], took[2])), median(minus(took[1], took[3]))
	b.ReportMetric(engine, "ns/op")
	b.ReportMetric(bare, "bare-ns/op")
	b.ReportMetric(engine/bare, "x-of-bare-loop")
	b.ReportMetric(median(took[0])/median(took[1]), "x-of-bare-tick")
}

// late is a match of two on one machine: our own inputs are there in time, and the
// other's come lag ticks after the step has guessed them.
type late[W world] struct {
	loop *rewind.Loop[W, input]
	log  *inputlog.Log[input]
	lag  driftback.Tick
	// turn is how much the other's buttons change from one tick to the next: with 0
	// repeating the last is always right, with 1 never.
	turn uint16
}

func newLate[W world](tb testing.TB, lag int, turn uint16, how ...saving) *late[W] {
	tb.Helper()
	c := rewind.Config[W, input]{Step: step[W], Depth: lag + 2}
	if slices.Contains(how, spaced) {
		c.Spacing = c.Depth
	}
	if slices.Contains(how, touched) {
		c.Step, c.Save = touching[W], snapshot.Pages[W]
	}
	log, err := inputlog.New(inputlog.Config[input]{Participants: 2, Depth: 32})
	require.NoError(tb, err)
	c.Inputs = log
	loop, err := rewind.New(c)
	require.NoError(tb, err)
	return &late[W]{loop: loop, log: log, lag: driftback.Tick(lag), turn: turn}
}

// play plays n ticks.
func (l *late[W]) play(n int) {
	for range n {
		t := l.loop.Next()
		err := l.loop.Supply(0, t, input{Buttons: uint16(t)})
		if from := t - l.lag; from >= 0 && err == nil {
			err = l.loop.Supply(1, from, input{Buttons: l.turn * uint16(from+1)})
		}
		if err == nil {
			_, err = l.loop.Advance()
		}
		if err != nil {
			panic(err)
		}
		l.log.Forget(l.loop.Oldest())
	}
}

// bare does with no engine what late does: a ring of states and an array of inputs.
type bare[W world] struct {
	step  driftback.Step[W, input]
	pass  driftback.Pass
	in    [2]input
	now   W
	slots []W
	next  int
	back  int  // ticks to run again before each tick; 0: none
	once  bool // a rollback makes one snapshot, of its second tick, and no other tick any
}

// newBare makes a ring as long as that of a loop that lags by lag.
func newBare[W world](lag, back int) *bare[W] {
	return &bare[W]{step: step[W], slots: make([]W, lag+2), back: back}
}

// play plays n ticks.
func (l *bare[W]) play(n int) {
	for range n {
		if l.back > 0 && l.next >= l.back {
			l.goBack()
		}
		if !l.once {
			l.slots[l.next%len(l.slots)] = l.now
		}
		l.in[0].Buttons++
		l.step(&l.now, l.in[:], &l.pass)
		l.next++
	}
}

func (l *bare[W]) goBack() {
	at := (l.next - l.back) % len(l.slots)
	l.now = l.slots[at]
	for i := range l.back {
		if i > 0 && !l.once || i == 1 {
			l.slots[at] = l.now
		}
		l.in[0].Buttons++
		l.step(&l.now, l.in[:], &l.pass)
		if at++; at == len(l.slots) {
			at = 0
		}
	}
}

// A ratio means something only if both sides do the same work: as many steps, and
// the same snapshots made anew.
func TestTheBareLoopDoesTheSameWork(t *testing.T) {
	type small = [32]uint64
	const played = 40
	for _, lag := range rollbackDepths {
		engine, bare := newLate[small](t, lag, 1), newBare[small](lag, lag)
		steps := 0
		bare.step = func(w *small, in []input, pass *driftback.Pass) {
			steps++
			step(w, in, pass)
		}
		engine.play(played)
		bare.play(played)
		require.Equal(t, uint64(played), bare.now[0])
		require.Equal(t, uint64(played), engine.loop.State()[0])
		require.Equal(t, uint64(steps), engine.loop.Counts().Steps)
		require.Equal(t, played+(played-lag)*lag, steps)
		require.Len(t, bare.slots, lag+2)
		var kept small
		for tick := engine.loop.Oldest(); tick < played; tick++ {
			require.NoError(t, engine.loop.Snapshot(tick, &kept))
			require.Equal(t, uint64(tick), kept[0])
			require.Equal(t, uint64(tick), bare.slots[int(tick)%len(bare.slots)][0])
		}
	}
}

func TestAWarmRollbackDoesNotAllocate(t *testing.T) {
	for _, ticks := range rollbackDepths {
		t.Run(fmt.Sprintf("of %d ticks", ticks), func(t *testing.T) {
			l := newLate[[512]uint64](t, ticks, 1)
			l.play(64)
			before := l.loop.Counts()
			require.Zero(t, testing.AllocsPerRun(100, func() { l.play(1) }))
			after := l.loop.Counts()
			require.Equal(t, uint64(101), after.Rollbacks-before.Rollbacks, "every tick goes back, else nothing was shown")
			require.Equal(t, uint64(101*ticks), after.Resimulated-before.Resimulated)
		})
	}
}
