package session_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/transport/loopback"
)

// largeMatch returns a match of n peers, of states that are large. Its saving policy puts away
// what the step changes.
func largeMatch[S comparable](t *testing.T, n int, moving func(s *S) *largeMoving, land func(s *S) []uint64) *bigMatch[S] {
	return newBigMatch(t, n, func(c *session.Config[S, input]) {
		c.Step = func(s *S, in []input, pass *driftback.Pass) { moving(s).step(in, pass) }
		c.Start = func(_ uint64, s *S) { makeLand(7, land(s)) }
		c.Save = snapshot.Part(moving, snapshot.Assign[largeMoving])
		c.FingerprintEvery, c.WatchRate = 120, 8<<20
	})
}

// standing is what a member's statistics say of how smoothly it has played.
type standing struct {
	Tick, Confirmed driftback.Tick
	Stalled         uint64
}

// returnToLarge plays a match of eight, of which the last one crashes, and comes back with
// nothing or does not, for a given number of frames after the crash. It returns how the
// others have fared.
func returnToLarge[S comparable](t *testing.T, back bool, frames int, size int, moving func(s *S) *largeMoving, land func(s *S) []uint64) (members []standing) {
	t.Helper()
	const n, lost = 8, 7
	m := largeMatch(t, n, moving, land)
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.turn(650) // beyond where who comes is given the match from its beginning
	m.crash(lost)
	m.turn(150)
	cut, ok := m.players[0].Cut(lost)
	require.True(t, ok)
	m.away[lost] = cut
	if back {
		made := make([]int, n) // bytes of the state, by the peer that makes them
		inCall, most := 0, 0
		copies := map[*S]bool{}
		for i, s := range m.players[:lost] {
			s.CountSlices(func(of *S, bytes int) {
				copies[of] = true
				made[i] += bytes
				inCall += bytes
				most = max(most, inCall)
			})
		}
		m.ticks = func(int) { inCall = 0 }
		var feeder driftback.Peer
		took, fed := 0, 0
		m.comeBack(lost, func(c *session.Config[S, input]) {
			c.Start = nil // so that nothing of the land is there but what is handed over
		}, func(at int, j *session.Joiner[S, input]) {
			took = at + 1
			if peer, feeds := j.Feeder(); feeds {
				feeder = peer
				if fed == 0 {
					fed = at
				}
			}
		})
		t.Logf("the state was there after %d frames, and the peer was in after %d; its feeder made %d bytes of it in one call at most", fed, took, most)
		for i := range made {
			if driftback.Peer(i) == feeder {
				require.Equal(t, size, made[i], "every byte is made once")
			} else {
				require.Zero(t, made[i], "peer %d", i)
			}
		}
		require.LessOrEqual(t, most, transfer.DefaultSlice, "bytes of it made in one call")
		require.Len(t, copies, 1, "there is one copy of the state")
		require.Less(t, fed, size/transfer.DefaultSlice*9/8+130, "a slice goes out in nearly every call, whatever the round trip")
		require.Less(t, took+300, frames)
		m.turn(frames - took)
		require.Greater(t, int(m.players[lost].Stats().Tick), 300, "the control: it plays")
		status := m.players[0].Stats().Status[lost]
		require.Equal(t, driftback.Playing, status)
	} else {
		m.turn(frames)
	}
	for _, s := range m.players[:lost] {
		now := s.Stats()
		members = append(members, standing{Tick: now.Tick, Confirmed: now.Confirmed, Stalled: now.Stalled})
	}
	m.finishAndCompare()
	return members
}

func TestALargeStateJoinsAMatchOfEightWithoutOneMoreStallForTheOthers(t *testing.T) {
	littleStack(t)
	t.Run("4 MiB", func(t *testing.T) {
		joinLarge(t, 900, 4<<20+512, func(s *lesser) *largeMoving { return &s.Moving }, func(s *lesser) []uint64 { return s.Land[:] })
	})
	t.Run("64 MiB", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes seconds and two gigabytes")
		}
		joinLarge(t, 2000, 64<<20, func(s *large) *largeMoving { return &s.Moving }, func(s *large) []uint64 { return s.Land[:] })
	})
}

func joinLarge[S comparable](t *testing.T, frames, size int, moving func(s *S) *largeMoving, land func(s *S) []uint64) {
	without := returnToLarge(t, false, frames, size, moving, land)
	with := returnToLarge(t, true, frames, size, moving, land)
	require.Equal(t, without, with)
	for _, s := range without {
		require.Positive(t, s.Stalled, "the control: they stalled while the crash was found")
	}
	t.Logf("the members: %+v", with)
}

// middling is larger than the stack that littleStack allows, and small enough to be kept often.
type middling struct {
	Moving largeMoving
	Land   [160 << 10]uint64
}

func middlingMoving(s *middling) *largeMoving { return &s.Moving }

func TestNoStackHoldsAStateThatIsSavedAsItIs(t *testing.T) {
	littleStack(t)
	start := &middling{}
	makeLand(3, start.Land[:])
	m := newBigMatch(t, 3, func(c *session.Config[middling, input]) {
		c.Step = func(s *middling, in []input, pass *driftback.Pass) { s.Moving.step(in, pass) }
		c.Initial, c.FingerprintEvery, c.WatchRate = start, 60, 8<<20
	})
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.turn(650)
	m.crash(2)
	m.turn(150)
	cut, ok := m.players[0].Cut(2)
	require.True(t, ok)
	m.away[2] = cut
	m.comeBack(2, nil, func(int, *session.Joiner[middling, input]) {})
	m.turn(300)
	for i, s := range m.players {
		require.Positive(t, s.Stats().Loop.Rollbacks, "the control: peer %d has taken states back", i)
	}
	into := &middling{}
	_, err := m.players[0].ConfirmedState(into)
	require.NoError(t, err)
	require.Equal(t, start.Land[9], into.Land[9])
	start.Land[9]++
	require.NotEqual(t, start.Land[9], m.players[1].State().Land[9], "what it began with is not the session's own")
	start.Land[9]--
	m.finishAndCompare()
}

// statesAllocated returns how many states' worth of memory a call allocates.
func statesAllocated(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) / int(unsafe.Sizeof(middling{}))
}

func TestHowManyTimesALargeStateIsInMemory(t *testing.T) {
	for name, c := range map[string]struct {
		save                       snapshot.Policy[middling]
		made, played, fed, returns int
	}{
		"what the step changes is saved": {save: snapshot.Part(middlingMoving, snapshot.Assign[largeMoving]), made: 2, returns: 3},
		// The window's snapshots and two more, and one to be compared; 13 at a time for those that have been, and the one that a peer begins with.
		"all of it is saved": {made: 2 + session.DefaultWindow + 2 + 1, played: 13 + 13, returns: 3 + session.DefaultWindow + 2 + 1 + 13},
	} {
		t.Run(name, func(t *testing.T) {
			var m *bigMatch[middling]
			change := func(c2 *session.Config[middling, input]) {
				c2.Step = func(s *middling, in []input, pass *driftback.Pass) { s.Moving.step(in, pass) }
				c2.Save, c2.FingerprintEvery, c2.WatchRate = c.save, 60, 8<<20
			}
			const n = 3
			made := statesAllocated(func() { m = newBigMatch(t, n, change) })
			require.Equal(t, c.made, made/n, "that each session is made with")
			require.Equal(t, c.played*n, statesAllocated(func() { m.turn(60 * 18) }), "while they play")
			m.crash(2)
			m.turn(150)
			returned := statesAllocated(func() {
				m.comeBack(2, nil, func(int, *session.Joiner[middling, input]) {})
			})
			require.Equal(t, c.returns, returned, "one that returns is made with, and is handed, and nothing where it comes from")
		})
	}
}
