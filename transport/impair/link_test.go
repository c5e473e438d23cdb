package impair_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transport/impair"
)

const ms = time.Millisecond

func newLink(t require.TestingT, seed uint64, im impair.Impairment) *impair.Link {
	l := impair.NewLink(seed, 0)
	require.NoError(t, l.Set(im))
	return l
}

// schedule offers n messages of 100 bytes, one each 10 ms.
func schedule(l *impair.Link, n int) []impair.Fate {
	fates := make([]impair.Fate, n)
	for i := range fates {
		fates[i] = l.Offer(time.Duration(i)*10*ms, 100)
	}
	return fates
}

func TestALinkThatImpairsNothingDeliversAtOnce(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{})
	for i, f := range schedule(l, 50) {
		require.Equal(t, 1, f.Copies)
		require.Equal(t, time.Duration(i)*10*ms, f.At[0])
	}
	require.Equal(t, impair.Counts{Sent: 50}, l.Counts())
}

func TestTheSameSeedGivesTheSameSchedule(t *testing.T) {
	im := impair.Impairment{
		Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.1, BytesPerSecond: 20000,
	}
	first, again := newLink(t, 7, im), newLink(t, 7, im)
	require.Equal(t, schedule(first, 500), schedule(again, 500))
	require.Equal(t, first.Counts(), again.Counts())

	require.NotEqual(t, schedule(newLink(t, 7, im), 500), schedule(newLink(t, 8, im), 500), "another seed")
	other := impair.NewLink(7, 1)
	require.NoError(t, other.Set(im))
	require.NotEqual(t, schedule(newLink(t, 7, im), 500), schedule(other, 500), "another stream")
}

// The draws are part of what a stored seed means, so they are pinned: a change
// here makes every recorded failure replay another match.
func TestTheScheduleOfASeedIsPinned(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.2, Reorder: 0.3, Duplicate: 0.3})
	var got []string
	for _, f := range schedule(l, 8) {
		got = append(got, fmt.Sprint(f.At[:f.Copies]))
	}
	require.Equal(t, []string{
		"[65.485061ms]", "[]", "[136.897281ms 112.107859ms]", "[156.684975ms 129.605596ms]",
		"[148.652887ms]", "[99.514352ms 111.035322ms]", "[160.642433ms]", "[137.529294ms]",
	}, got)
}

func TestChangingOneProbabilityShiftsNoOtherDecision(t *testing.T) {
	base := impair.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.2, Reorder: 0.2, Duplicate: 0.2}
	want := schedule(newLink(t, 3, base), 400)

	lossless := base
	lossless.Loss = 0
	losses := 0
	for i, f := range schedule(newLink(t, 3, lossless), 400) {
		if want[i].Copies == 0 {
			losses++
			continue
		}
		require.Equal(t, want[i], f, "message %d was not lost in either", i)
	}
	require.NotZero(t, losses)

	single := base
	single.Duplicate = 0
	for i, f := range schedule(newLink(t, 3, single), 400) {
		require.Equal(t, want[i].At[0], f.At[0], "message %d", i)
		require.LessOrEqual(t, f.Copies, 1)
	}

	inOrder := base
	inOrder.Reorder = 0
	held := 0
	for i, f := range schedule(newLink(t, 3, inOrder), 400) {
		require.Equal(t, want[i].Copies, f.Copies, "message %d", i)
		if f.At[0] != want[i].At[0] {
			held++
			for c := range f.At[:f.Copies] {
				f.At[c] += impair.DefaultReorderBy
			}
		}
		require.Equal(t, want[i], f, "message %d", i)
	}
	require.NotZero(t, held)
}

func TestABlockShiftsNothingThatComesAfterIt(t *testing.T) {
	im := impair.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.2}
	want := schedule(newLink(t, 4, im), 100)

	l := newLink(t, 4, im)
	for i := range want {
		now := im
		now.Blocked = i >= 20 && i < 40
		require.NoError(t, l.Set(now))
		f := l.Offer(time.Duration(i)*10*ms, 100)
		if now.Blocked {
			require.Zero(t, f)
		} else {
			require.Equal(t, want[i], f, "message %d", i)
		}
	}
	require.EqualValues(t, 20, l.Counts().Blocked)
}

func TestSharesAreMet(t *testing.T) {
	const n = 20000
	l := newLink(t, 5, impair.Impairment{Loss: 0.05, Reorder: 0.1, ReorderBy: 15 * ms, Duplicate: 0.2})
	schedule(l, n)
	c := l.Counts()
	require.InDelta(t, 0.05*n, float64(c.Lost), 0.008*n)
	require.InDelta(t, 0.2*0.95*n, float64(c.Duplicated), 0.012*n)
	// One held back by 15 ms is overtaken by the next, sent 10 ms later, unless
	// that was lost or held back too.
	require.InDelta(t, 0.1*0.9*n, float64(c.Reordered), 0.04*n)
}

func TestJitterStaysWithinItsBoundsAndFillsThem(t *testing.T) {
	l := newLink(t, 6, impair.Impairment{Latency: 60 * ms, Jitter: 20 * ms})
	lowest, highest := time.Hour, time.Duration(0)
	for i, f := range schedule(l, 2000) {
		delay := f.At[0] - time.Duration(i)*10*ms
		lowest, highest = min(lowest, delay), max(highest, delay)
	}
	require.GreaterOrEqual(t, lowest, 40*ms)
	require.Less(t, lowest, 41*ms)
	require.LessOrEqual(t, highest, 80*ms)
	require.Greater(t, highest, 79*ms)
	require.NotZero(t, l.Counts().Reordered, "20 ms of jitter reorders what is sent 10 ms apart")
}

func TestADelayIsNeverNegative(t *testing.T) {
	l := newLink(t, 6, impair.Impairment{Latency: 5 * ms, Jitter: 50 * ms})
	clamped := 0
	for i, f := range schedule(l, 200) {
		require.GreaterOrEqual(t, f.At[0], time.Duration(i)*10*ms)
		if f.At[0] == time.Duration(i)*10*ms {
			clamped++
		}
	}
	require.NotZero(t, clamped)
}

func TestARateLimitSpacesDatagramsAndDropsWhatFindsTheBacklogFull(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Latency: 10 * ms, BytesPerSecond: 100_000})
	arrived := 0
	for i := range 100 { // 100 kB at once: 1 s of line, of which 64 KiB may wait
		f := l.Offer(0, 1000)
		if f.Copies == 1 {
			arrived++
			require.Equal(t, time.Duration(i+1)*10*ms+10*ms, f.At[0])
		}
	}
	require.Equal(t, impair.MaxBacklog/1000, arrived)
	require.EqualValues(t, 100-arrived, l.Counts().Overflowed)
	require.EqualValues(t, arrived-1, l.Counts().Queued, "all but the first wait")

	f := l.Offer(10*time.Second, 1000)
	require.Equal(t, 10*time.Second+20*ms, f.At[0], "the line is idle again")
	require.EqualValues(t, arrived-1, l.Counts().Queued, "it takes its time on the line, and waits for nothing")

	l = newLink(t, 1, impair.Impairment{BytesPerSecond: 1_000_000})
	require.Equal(t, 1, l.Offer(0, impair.MaxBacklog).Copies, "all that may wait")
	require.Zero(t, l.Offer(0, 1).Copies, "one byte more")
}

func TestALostDatagramStillUsesTheLine(t *testing.T) {
	im := impair.Impairment{BytesPerSecond: 100_000}
	clean := schedule(newLink(t, 9, im), 100)
	im.Loss = 0.5
	lost := 0
	for i, f := range schedule(newLink(t, 9, im), 100) {
		if f.Copies == 0 {
			lost++
			continue
		}
		require.Equal(t, clean[i], f)
	}
	require.NotZero(t, lost)
}

func TestAChangedRateAppliesToWhatWaits(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{BytesPerSecond: 1000})
	require.Equal(t, 10*time.Second, l.Offer(0, 10_000).At[0])
	require.NoError(t, l.Set(impair.Impairment{BytesPerSecond: 100_000}))
	require.Equal(t, 200*ms, l.Offer(0, 10_000).At[0], "10 kB wait: 100 ms at the new rate, then 100 ms of its own")
	require.NoError(t, l.Set(impair.Impairment{}))
	require.Zero(t, l.Offer(0, 10_000).At[0])

	l = newLink(t, 1, impair.Impairment{BytesPerSecond: 100_000})
	at, _ := l.Carry(0, 10_000)
	require.Equal(t, 100*ms, at)
	require.NoError(t, l.Set(impair.Impairment{BytesPerSecond: 10_000}))
	at, _ = l.Carry(0, 10_000)
	require.Equal(t, 2*time.Second, at, "10 kB wait: 1 s at the new rate, then 1 s of its own")
}

func TestAnAbsurdBacklogAtAnAbsurdRateEndsSomeTime(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{BytesPerSecond: 1_000_000_000})
	for range 30 {
		l.Carry(0, 1<<30)
	}
	require.NoError(t, l.Set(impair.Impairment{BytesPerSecond: 1}))
	at, ok := l.Carry(0, 1)
	require.True(t, ok)
	require.Equal(t, 1000*time.Hour+time.Second, at)
}

func TestAReliableMessageIsLateAsOftenAsItWouldHaveBeenLost(t *testing.T) {
	const n = 20000
	l := newLink(t, 5, impair.Impairment{Loss: 0.5})
	for range n {
		l.Carry(0, 10)
	}
	require.InDelta(t, n, float64(l.Counts().Retried), 0.05*n, "1/2 + 1/4 + 1/8 + …")
}

func TestReliableMessagesArriveInOrderAndGiveWayToDatagrams(t *testing.T) {
	l := newLink(t, 2, impair.Impairment{Latency: 60 * ms, Jitter: 50 * ms, Loss: 0.3, BytesPerSecond: 100_000})
	last := time.Duration(0)
	for i := range 300 {
		now := time.Duration(i) * 10 * ms
		at, ok := l.Carry(now, 500)
		require.True(t, ok)
		require.GreaterOrEqual(t, at, last)
		require.GreaterOrEqual(t, at, now)
		last = at
	}
	require.NotZero(t, l.Counts().Retried, "loss makes reliable messages late")
	require.EqualValues(t, 300, l.Counts().Reliable)

	l = newLink(t, 2, impair.Impairment{BytesPerSecond: 100_000})
	at, _ := l.Carry(0, 50_000)
	require.Equal(t, 500*ms, at)
	require.Equal(t, 10*ms, l.Offer(0, 1000).At[0], "a datagram does not wait for a reliable message")
	at, _ = l.Carry(0, 1000)
	require.Equal(t, 520*ms, at, "the next reliable message waits for both")
}

func TestReliableMessagesShiftNoDatagram(t *testing.T) {
	im := impair.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.2}
	want := schedule(newLink(t, 4, im), 100)
	l := newLink(t, 4, im)
	for i := range want {
		_, ok := l.Carry(time.Duration(i)*10*ms, 10)
		require.True(t, ok)
		require.Equal(t, want[i], l.Offer(time.Duration(i)*10*ms, 100))
	}
}

func TestABlockedLinkCarriesNoReliableMessage(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Blocked: true})
	_, ok := l.Carry(0, 10)
	require.False(t, ok)
	require.Zero(t, l.Counts())
}

func TestEvenTotalLossCarriesAReliableMessage(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Latency: 10 * ms, Loss: 1})
	require.Zero(t, l.Offer(0, 10).Copies)
	at, ok := l.Carry(0, 10)
	require.True(t, ok)
	require.Equal(t, 10*ms+8*45*ms, at)
}

func TestATimeThatGoesBackIsNoTimePassed(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{})
	l.Offer(time.Second, 10)
	require.Equal(t, time.Second, l.Offer(0, 10).At[0])
}

func TestARefusedImpairmentChangesNothing(t *testing.T) {
	im := impair.Impairment{Latency: 10 * ms}
	l := newLink(t, 1, im)
	require.Error(t, l.Set(impair.Impairment{Loss: 2}))
	require.Equal(t, im, l.Impairment())
}

func TestEveryDatagramIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLink(t, rapid.Uint64().Draw(t, "seed"), impair.Impairment{})
		var now time.Duration
		var arrived, copies, reordered uint64
		var latest time.Duration
		var lastReliable time.Duration
		steps := rapid.IntRange(1, 200).Draw(t, "steps")
		for range steps {
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				require.NoError(t, l.Set(anyImpairment(t)))
			}
			now += time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pass"))
			n := rapid.IntRange(0, 64<<10).Draw(t, "size")
			f := l.Offer(now, n)
			for _, at := range f.At[:f.Copies] {
				require.GreaterOrEqual(t, at, now)
			}
			if f.Copies > 0 {
				arrived++
				copies += uint64(f.Copies)
				first := slices.Min(f.At[:f.Copies])
				if first < latest {
					reordered++
				}
				latest = max(latest, first)
			}
			if at, ok := l.Carry(now, n); ok {
				require.GreaterOrEqual(t, at, max(now, lastReliable))
				lastReliable = at
			}
		}
		c := l.Counts()
		require.EqualValues(t, steps, c.Sent)
		require.Equal(t, c.Sent, c.Lost+c.Blocked+c.Overflowed+arrived)
		require.Equal(t, arrived+c.Duplicated, copies)
		require.Equal(t, reordered, c.Reordered)
	})
}

func TestADatagramIsReorderedByTheFirstOfItsCopies(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Latency: 50 * ms, Jitter: 50 * ms, Duplicate: 1})
	var latest time.Duration
	reordered := uint64(0)
	for i := range 500 {
		f := l.Offer(time.Duration(i)*10*ms, 100)
		first := min(f.At[0], f.At[1])
		if first < latest {
			reordered++
		}
		latest = max(latest, first)
		require.Equal(t, reordered, l.Counts().Reordered, "message %d", i)
	}
	require.NotZero(t, reordered)
}

func TestOfferingAllocatesNothing(t *testing.T) {
	l := newLink(t, 1, impair.Impairment{Latency: 60 * ms, Jitter: 10 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.1, BytesPerSecond: 1e6})
	now := time.Duration(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now += ms
		l.Offer(now, 100)
		l.Carry(now, 100)
	}))
}

func anyImpairment(t *rapid.T) impair.Impairment {
	delay := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "delay"))
	})
	share := rapid.Float64Range(0, 1)
	return impair.Impairment{
		Latency: delay.Draw(t, "latency"), Jitter: delay.Draw(t, "jitter"), ReorderBy: delay.Draw(t, "reorderby"),
		Loss: share.Draw(t, "loss"), Reorder: share.Draw(t, "reorder"), Duplicate: share.Draw(t, "duplicate"),
		BytesPerSecond: rapid.IntRange(0, 1<<20).Draw(t, "rate"), Blocked: rapid.Bool().Draw(t, "blocked"),
	}
}

func BenchmarkOffer(b *testing.B) {
	l := newLink(b, 1, impair.Impairment{Latency: 60 * ms, Jitter: 10 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.1})
	var now time.Duration
	for b.Loop() {
		now += ms
		l.Offer(now, 100)
	}
}
