package session_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/transport/loopback"
)

// A large world changes in a few places at every tick, and the rest is made once.
type (
	largeMoving struct {
		Ticks  int64
		Places [62]uint64
		Weight float64
	}
	large struct { // 64 MiB
		Moving largeMoving
		Land   [8<<20 - 64]uint64
	}
	lesser struct { // 4 MiB and a little
		Moving largeMoving
		Land   [512 << 10]uint64
	}
)

func (m *largeMoving) step(in []input, pass *driftback.Pass) {
	at := &m.Places[pass.Tick()%62]
	for p, i := range in {
		*at = (*at ^ uint64(i.Buttons) ^ uint64(pass.Status(driftback.Participant(p)))<<32) * 0x9e3779b97f4a7c15
	}
	*at ^= uint64(pass.Tick())
	m.Weight += 0.25
	m.Ticks++
}

func makeLand(seed uint64, land []uint64) {
	for i := range land {
		seed = seed*6364136223846793005 + 1442695040888963407
		land[i] = seed
	}
}

func TestALargeStateReachesWatchersAndNoCallMakesMoreThanASlice(t *testing.T) {
	littleStack(t)
	t.Run("4 MiB", func(t *testing.T) {
		watchLarge(t, 2, 4<<20+512, func(s *lesser) *largeMoving { return &s.Moving }, func(s *lesser) []uint64 { return s.Land[:] })
	})
	t.Run("64 MiB", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes seconds and a gigabyte")
		}
		watchLarge(t, 1, 64<<20, func(s *large) *largeMoving { return &s.Moving }, func(s *large) []uint64 { return s.Land[:] })
	})
}

func watchLarge[S comparable](t *testing.T, watchers, size int, moving func(s *S) *largeMoving, land func(s *S) []uint64) {
	net := loopback.New(3)
	c := session.Config[S, input]{
		Step:    func(s *S, in []input, pass *driftback.Pass) { moving(s).step(in, pass) },
		Start:   func(seed uint64, s *S) { makeLand(seed, land(s)) },
		Players: []driftback.Peer{0}, Transport: net.Open(0), Nonce: 5, Match: 7, Game: "large",
		Save:             snapshot.Part(moving, snapshot.Assign[largeMoving]),
		FingerprintEvery: 64, MaxWatchers: 2, WatchRate: 8 << 20,
	}
	feeder, err := session.New(c)
	require.NoError(t, err)
	total, inCall, most, calls := 0, 0, 0, 0
	copies := map[*S]bool{}
	feeder.CountSlices(func(of *S, n int) {
		require.NotSame(t, feeder.State(), of, "the state goes on while its bytes are made")
		copies[of] = true
		total, inCall = total+n, inCall+n
	})
	allocated, longest := uint64(0), time.Duration(0)
	turn := func() {
		var before, after runtime.MemStats
		net.Advance(frame)
		inCall = 0
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := feeder.Tick(net.Now(), input{Buttons: uint16(feeder.Stats().Tick * 7)})
		longest = max(longest, time.Since(began))
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		allocated += after.TotalAlloc - before.TotalAlloc
		most = max(most, inCall)
		if inCall > 0 {
			calls++
		}
	}
	for n := range watchers {
		for end := feeder.Stats().Tick + 600; feeder.Stats().Tick < end; {
			turn() // beyond where a watcher is given the match from its beginning, or the state before
		}
		total, most, calls, allocated, longest = 0, 0, 0, 0, 0
		watcher := watchFrom(t, net, driftback.Peer(9+n), c)
		var result session.Result
		for frames := 0; result.Confirmed == 0 || result.Tick < feeder.Stats().Tick-30 || watcher.Agreed() < result.Confirmed-64; frames++ {
			require.Less(t, frames, 4000, "it has not caught up: %+v", result)
			turn()
			result, err = watcher.Tick(net.Now())
			require.NoError(t, err)
		}
		theirs, ok := feeder.Root(watcher.Agreed())
		require.True(t, ok)
		ours, ok := watcher.Root(watcher.Agreed())
		require.True(t, ok)
		require.Equal(t, theirs, ours)
		require.NotZero(t, land(watcher.State())[100])
		require.Equal(t, land(feeder.State())[100], land(watcher.State())[100])

		require.Equal(t, size, total, "every byte is made once")
		require.LessOrEqual(t, most, transfer.DefaultSlice, "bytes made in one call")
		require.GreaterOrEqual(t, calls, size/transfer.DefaultSlice)
		require.Len(t, copies, 1, "there is one copy, the same for the next watcher")
		require.Less(t, allocated, uint64(1<<20), "neither a state nor its bytes is allocated meanwhile")
		t.Logf("%d bytes in %d calls, %d in one at most; the longest call took %v, and all of them allocated %d bytes",
			total, calls, most, longest, allocated)
		watcher.Leave()
	}
}

// littleStack has the test end the process if a goroutine's stack comes to hold as much as a
// 64th of a large state.
func littleStack(t *testing.T) {
	was := debug.SetMaxStack(1 << 20)
	t.Cleanup(func() { debug.SetMaxStack(was) })
}

// watchFrom opens a spectator to whom the land comes with the state.
func watchFrom[S any](t *testing.T, net *loopback.Network, self driftback.Peer, c session.Config[S, input]) *session.Spectator[S, input] {
	w := session.WatchConfig[S, input]{Config: c}
	w.Self, w.Transport, w.Nonce, w.MaxWatchers, w.Start = self, net.Open(self), uint64(self), 0, nil
	watcher, err := session.Watch(w)
	require.NoError(t, err)
	return watcher
}
