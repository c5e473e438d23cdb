package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
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

func rollbacks[W world](b *testing.B) {
	for _, ticks := range rollbackDepths {
		b.Run(fmt.Sprintf("%dticks", ticks), func(b *testing.B) { rollback[W](b, ticks) })
	}
}

func rollback[W world](b *testing.B, ticks int) {
	wrong, right := newLate[W](b, ticks, 1), newLate[W](b, ticks, 0)
	bareWrong, bareRight := newBare[W](ticks, ticks), newBare[W](ticks, 0)
	turns := []func(n int){wrong.play, bareWrong.play, right.play, bareRight.play}

	// A round is long enough for the clock and short enough to share its weather.
	round := 64
	if n := 1 << 19 / (8 * len(*wrong.world())) / ticks; n < round {
		round = max(n, 1)
	}
	for _, turn := range turns {
		turn(4*round + 2*ticks)
	}
	before := wrong.loop.Counts()
	var engine, bare, engineTick, bareTick []float64
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += round {
		var took [4]float64
		for i, turn := range turns {
			start := time.Now()
			turn(round)
			took[i] = float64(time.Since(start).Nanoseconds()) / float64(round)
		}
		engine, bare = append(engine, took[0]-took[2]), append(bare, took[1]-took[3])
		engineTick, bareTick = append(engineTick, took[0]), append(bareTick, took[1])
	}
	b.StopTimer()
	after := wrong.loop.Counts()
	ops := after.Rollbacks - before.Rollbacks
	require.Positive(b, ops, "nothing was rolled back, so nothing was measured")
	require.Equal(b, ops*uint64(ticks), after.Resimulated-before.Resimulated, "every rollback is of the length it is named for")
	require.Zero(b, right.loop.Counts().Rollbacks, "what is subtracted holds no rollback")

	b.ReportMetric(median(engine), "ns/op")
	b.ReportMetric(median(bare), "bare-ns/op")
	b.ReportMetric(median(engine)/median(bare), "x-of-bare-loop")
	b.ReportMetric(median(engineTick)/median(bareTick), "x-of-bare-tick")
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
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

func newLate[W world](tb testing.TB, lag int, turn uint16) *late[W] {
	tb.Helper()
	log, err := inputlog.New(inputlog.Config[input]{Participants: 2, Depth: 32})
	require.NoError(tb, err)
	loop, err := rewind.New(rewind.Config[W, input]{Step: step[W], Inputs: log, Depth: lag + 2})
	require.NoError(tb, err)
	return &late[W]{loop: loop, log: log, lag: driftback.Tick(lag), turn: turn}
}

func (l *late[W]) world() *W { return l.loop.State() }

// play plays n ticks.
func (l *late[W]) play(n int) {
	for range n {
		t := l.loop.Next()
		err := l.loop.Supply(0, t, input{Buttons: uint16(t)})
		if from := t - l.lag; from >= 0 && err == nil {
			err = l.loop.Supply(1, from, input{Buttons: uint16(from) * l.turn})
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

// bare does what late does with no engine: a ring of states, an array of inputs.
type bare[W world] struct {
	step  driftback.Step[W, input]
	pass  driftback.Pass
	in    [2]input
	now   W
	slots []W
	next  int
	back  int
}

func newBare[W world](depth, back int) *bare[W] {
	return &bare[W]{step: step[W], slots: make([]W, depth+2), back: back}
}

// play plays n ticks, each after going back.
func (l *bare[W]) play(n int) {
	for range n {
		if l.back > 0 && l.next >= l.back {
			at := (l.next - l.back) % len(l.slots)
			l.now = l.slots[at]
			for i := range l.back {
				if i > 0 {
					l.slots[at] = l.now
				}
				l.in[0].Buttons++
				l.step(&l.now, l.in[:], &l.pass)
				if at++; at == len(l.slots) {
					at = 0
				}
			}
		}
		l.slots[l.next%len(l.slots)] = l.now
		l.in[0].Buttons++
		l.step(&l.now, l.in[:], &l.pass)
		l.next++
	}
}

func TestAWarmRollbackDoesNotAllocate(t *testing.T) {
	for _, ticks := range rollbackDepths {
		t.Run(fmt.Sprintf("of %d ticks", ticks), func(t *testing.T) {
			l := newLate[[512]uint64](t, ticks, 1)
			l.play(64)
			before := l.loop.Counts()
			allocs := testing.AllocsPerRun(100, func() { l.play(1) })
			require.Zero(t, allocs)
			after := l.loop.Counts()
			require.Equal(t, uint64(101), after.Rollbacks-before.Rollbacks, "every tick rolls back, else the warm path was not taken")
			require.Equal(t, uint64(101*ticks), after.Resimulated-before.Resimulated)
		})
	}
}
