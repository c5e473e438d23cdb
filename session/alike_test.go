package session_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport/loopback"
)

// A duo is two peers and as little around them as a match needs: nothing is read
// that the game does not need.
type duo[S any] struct {
	t    testing.TB
	net  *loopback.Network
	peer [2]*session.Lockstep[S, input]
	next [2]driftback.Tick
}

func newDuo[S any](t testing.TB, seed uint64, step driftback.Step[S, input], change func(c *session.Config[S, input])) *duo[S] {
	t.Helper()
	d := &duo[S]{t: t, net: loopback.New(seed)}
	bad := loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.05}
	for i := range d.peer {
		self := driftback.Peer(i)
		require.NoError(t, d.net.Impair(self, 1-self, bad))
		c := session.Config[S, input]{
			Step: step, Transport: d.net.Open(self), Self: self, Players: []driftback.Peer{0, 1}, Nonce: 1 + uint64(i),
		}
		if change != nil {
			change(&c)
		}
		s, err := session.New(c)
		require.NoError(t, err)
		d.peer[i] = s
	}
	return d
}

var pressed = play(5)

func (d *duo[S]) frame() {
	d.net.Advance(frame)
	for i, s := range d.peer {
		r, err := s.Tick(d.net.Now(), pressed(i, d.next[i]))
		if err != nil {
			d.t.Fatalf("peer %d: %v", i, err)
		}
		if r.Phase == session.Advanced {
			d.next[i]++
		}
	}
}

// outcome is all that two runs of one match must have in common.
type outcome struct {
	roots [2][]fingerprint.Sum
	stats [2]session.Stats
	links [2]loopback.Stats
}

func (d *duo[S]) outcome() (o outcome) {
	for i, s := range d.peer {
		for t := driftback.Tick(session.DefaultFingerprintEvery); ; t += session.DefaultFingerprintEvery {
			sum, ok := s.Root(t)
			if !ok {
				break
			}
			o.roots[i] = append(o.roots[i], sum)
		}
		o.stats[i] = s.Stats()
		o.stats[i].StepTime, o.stats[i].RerunTime = 0, 0
		o.links[i] = d.net.Stats(driftback.Peer(i), driftback.Peer(1-i))
	}
	return o
}

func playDuo[S any](t testing.TB, step driftback.Step[S, input], change func(c *session.Config[S, input])) outcome {
	t.Helper()
	d := newDuo(t, 7, step, change)
	for range 1000 {
		d.frame()
	}
	return d.outcome()
}

// requireEventful fails if a run's hashes prove nothing.
func requireEventful(t *testing.T, o outcome) {
	t.Helper()
	for i := range o.roots {
		require.Greater(t, len(o.roots[i]), 60)
	}
	require.Greater(t, o.stats[0].Loop.Rollbacks+o.stats[1].Loop.Rollbacks, uint64(60))
}

func TestTwoMatchesInOneProcessShareNothing(t *testing.T) {
	alone := [2]outcome{}
	open := func(match int) *duo[state] {
		return newDuo(t, 40+uint64(match), step, func(c *session.Config[state, input]) {
			c.Match, c.PredictionWindow = uint64(match), 8+4*match
		})
	}
	for match := range alone {
		d := open(match)
		for range 800 {
			d.frame()
		}
		alone[match] = d.outcome()
		requireEventful(t, alone[match])
	}
	require.NotEqual(t, alone[0].links, alone[1].links, "they are not the same match")

	both := [2]*duo[state]{open(0), open(1)}
	for range 800 {
		for _, d := range both {
			d.frame()
		}
	}
	for match, d := range both {
		require.Equal(t, alone[match], d.outcome(), "match %d beside another", match)
	}
	again := open(0)
	for range 800 {
		again.frame()
	}
	require.Equal(t, alone[0], again.outcome(), "a match after others")
}

func TestASecondMatchOverTheSameEndpointsFollowsTheFirst(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.impair(loopback.Impairment{Latency: 50 * ms, Loss: 0.1})
	m.finish(200)
	m.runWhile(2000, "not finished", func() bool { return !m.ended() })
	for _, p := range m.peers {
		require.ErrorIs(t, p.err, session.ErrFinished)
	}
	// The peers come again, over new endpoints of the same network.
	next := newEmptyMatch(t)
	next.net = m.net
	for i := range 2 {
		next.add(next.config(i, 2, func(c *session.Config[state, input]) { c.Nonce += 10; c.Match++ }))
	}
	next.runUntil(300)
}

func TestObservingChangesNothing(t *testing.T) {
	plain := playDuo(t, step, nil)
	requireEventful(t, plain)

	reads := 0
	d := newDuo(t, 7, step, func(c *session.Config[state, input]) {
		c.Clock = func() time.Duration { reads++; return time.Duration(reads) * time.Microsecond }
		c.Guard = true
	})
	for range 1000 {
		d.frame()
		for i, s := range d.peer {
			var copied state
			at, err := s.ConfirmedState(&copied)
			require.NoError(t, err)
			require.Equal(t, int64(at), copied.Ticks)
			require.Equal(t, int64(s.Stats().Tick), s.State().Ticks)
			s.Root(8)
			s.DesyncState(&copied)
			for p := range driftback.Participant(2) {
				for t := max(0, d.next[i]-20); t < d.next[i]+20; t++ {
					s.Input(p, t)
				}
			}
		}
	}
	require.Greater(t, reads, 2000)
	require.Positive(t, d.peer[0].Stats().StepTime)
	require.Positive(t, d.peer[0].Stats().RerunTime)
	watched := d.outcome()
	for i := range watched.stats {
		// ConfirmedState copies by way of the loop's store, which counts it.
		watched.stats[i].Loop.Saves, watched.stats[i].Loop.Loads = plain.stats[i].Loop.Saves, plain.stats[i].Loop.Loads
		// What the clock measures is a figure too.
		require.Positive(t, watched.stats[i].Pace.Load)
		watched.stats[i].Pace.Load = 0
	}
	require.Equal(t, plain, watched)

	// Were anything different, this would show it: one tick's step is enough.
	other := newDuo(t, 7, diverging(500), nil)
	for range 1000 {
		other.frame()
	}
	require.NotEqual(t, plain.roots, other.outcome().roots)
}

// world is the state with every way of being put away.
type world state

func (w *world) CopyTo(to *world) { *to = *w }

func (w *world) AppendBinary(b []byte) ([]byte, error) {
	return binary.Append(b, binary.LittleEndian, w)
}

func (w *world) UnmarshalBinary(b []byte) error {
	_, err := binary.Decode(b, binary.LittleEndian, w)
	return err
}

// asWorld saves a world as the state that it is.
type asWorld struct{ of snapshot.Store[state] }

func (a asWorld) Save(i int, from *world) error { return a.of.Save(i, (*state)(from)) }
func (a asWorld) Load(i int, into *world) error { return a.of.Load(i, (*state)(into)) }

func worldStep(w *world, in []input, pass *driftback.Pass) {
	driftback.Touch(pass, w, &w.Ticks)
	driftback.Touch(pass, w, &w.Digest)
	driftback.Touch(pass, w, &w.Pos)
	driftback.Touch(pass, w, &w.Held)
	step((*state)(w), in, pass)
}

func TestEverySavingPolicyGivesTheSameHashes(t *testing.T) {
	level := [4]int32{5, 2} // which no tick changes
	want := playDuo(t, step, func(c *session.Config[state, input]) { c.Initial = &state{Level: level} })
	requireEventful(t, want)
	split := snapshot.Join(
		snapshot.Part(func(w *world) *int64 { return &w.Ticks }, snapshot.Assign[int64]),
		snapshot.Part(func(w *world) *uint64 { return &w.Digest }, snapshot.Assign[uint64]),
		snapshot.Part(func(w *world) *[4]int32 { return &w.Pos }, snapshot.Assign[[4]int32]),
		snapshot.Part(func(w *world) *[4]int16 { return &w.Held }, snapshot.Assign[[4]int16]),
		snapshot.Part(func(w *world) *[4]int32 { return &w.Level }, snapshot.Assign[[4]int32]),
	)
	without := func(places int) (snapshot.Store[world], error) {
		s, err := moving(places)
		return asWorld{s}, err
	}
	for name, policies := range map[string][2]snapshot.Policy[world]{
		"the default":            {nil, nil},
		"by assignment":          {snapshot.Assign[world], snapshot.Assign[world]},
		"by copying":             {snapshot.Copy[world], snapshot.Copy[world]},
		"encoded":                {snapshot.Encode[world], snapshot.Encode[world]},
		"in parts":               {split, split},
		"by pages":               {snapshot.Pages[world], snapshot.CheckedPages[world]},
		"differently everywhere": {snapshot.Encode[world], snapshot.Assign[world]},
		"all but the level":      {without, without},
		"all, and all but that":  {nil, without},
	} {
		t.Run(name, func(t *testing.T) {
			got := playDuo(t, worldStep, func(c *session.Config[world, input]) {
				c.Initial, c.Save = &world{Level: level}, policies[c.Self]
			})
			require.Equal(t, want.roots, got.roots)
			for i := range got.stats {
				// By a policy of the game's own a world is fingerprinted in place, for which the
				// loop's state makes way.
				want, got := want.stats[i].Loop, got.stats[i].Loop
				require.Equal(t, policies[i] == nil, want.Saves == got.Saves)
				got.Saves, got.Loads = want.Saves, want.Loads
				require.Equal(t, want, got)
			}
		})
	}
	for name, spacings := range map[string][2]int{
		"one of two ticks": {2, 2}, "one of five": {5, 5}, "as few as can be": {session.MaxSpacing, session.MaxSpacing}, "differently often": {1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, save := range []snapshot.Policy[world]{nil, without, snapshot.CheckedPages[world]} {
				got := playDuo(t, worldStep, func(c *session.Config[world, input]) {
					c.Initial, c.Save, c.Spacing = &world{Level: level}, save, spacings[c.Self]
				})
				require.Equal(t, want.roots, got.roots)
				for i := range got.stats {
					want, got := want.stats[i].Loop, got.stats[i].Loop
					if spacings[i] > 1 {
						require.Positive(t, got.Approached, "it has gone back to states that were not put away")
						if save == nil {
							require.Less(t, got.Saves, want.Saves*2/3)
						}
					}
					got.Steps -= got.Approached
					got.Saves, got.Loads, got.Approached = want.Saves, want.Loads, 0
					require.Equal(t, want, got, "it went back as often and as far")
				}
			}
		})
	}
	t.Run("as often as it pays", func(t *testing.T) {
		now := time.Duration(0)
		ticks := rng.New(5, 0)
		got := playDuo(t, worldStep, func(c *session.Config[world, input]) {
			c.Initial, c.AdaptSpacing = &world{Level: level}, true
			c.Clock = func() time.Duration { // which says anything
				now += time.Duration(ticks.Uint64() % 1000)
				return now
			}
		})
		require.Equal(t, want.roots, got.roots)
		require.Positive(t, got.stats[0].Loop.Approached)
		require.Less(t, got.stats[0].Spacing, session.DefaultWindow+2, "it has found out what pays")
	})
	t.Run("a write that was not announced is noticed", func(t *testing.T) {
		forgetful := func(w *world, in []input, pass *driftback.Pass) {
			driftback.Touch(pass, w, &w.Ticks)
			step((*state)(w), in, pass)
		}
		d := newDuo(t, 7, forgetful, func(c *session.Config[world, input]) {
			c.Initial, c.Save = &world{Level: level}, snapshot.CheckedPages[world]
		})
		var err error
		for range 100 {
			d.net.Advance(frame)
			if _, err = d.peer[0].Tick(d.net.Now(), pressed(0, d.peer[0].Stats().Tick)); err != nil {
				break
			}
			_, _ = d.peer[1].Tick(d.net.Now(), pressed(1, d.peer[1].Stats().Tick))
		}
		require.ErrorIs(t, err, snapshot.ErrUntouched)
		require.ErrorContains(t, err, "Digest was 0 and is ")
		require.ErrorContains(t, err, "the state of tick")
	})
	t.Run("a policy that forgets a field is noticed", func(t *testing.T) {
		forgetful := snapshot.Join(
			snapshot.Part(func(w *world) *int64 { return &w.Ticks }, snapshot.Assign[int64]),
			snapshot.Part(func(w *world) *uint64 { return &w.Digest }, snapshot.Assign[uint64]),
			snapshot.Part(func(w *world) *[4]int32 { return &w.Pos }, snapshot.Assign[[4]int32]),
		)
		d := newDuo(t, 7, worldStep, func(c *session.Config[world, input]) { c.Save = forgetful })
		var desync *session.DesyncError
		for range 1000 {
			d.net.Advance(frame)
			for i, s := range d.peer {
				if _, err := s.Tick(d.net.Now(), pressed(i, s.Stats().Tick)); err != nil && desync == nil {
					require.ErrorAs(t, err, &desync)
				}
			}
		}
		require.NotNil(t, desync)
	})
}

func TestAPolicyThatFailsEndsTheMatchAndDoesNotPanic(t *testing.T) {
	d := newDuo(t, 7, worldStep, func(c *session.Config[world, input]) {
		if c.Self == 0 {
			c.Save = func(n int) (snapshot.Store[world], error) {
				s, err := snapshot.Assign[world](n)
				return &failing{Store: s, left: 200}, err
			}
		}
	})
	var errs [2]error
	for range 400 {
		d.net.Advance(frame)
		for i, s := range d.peer {
			_, errs[i] = s.Tick(d.net.Now(), pressed(i, s.Stats().Tick))
		}
	}
	require.ErrorIs(t, errs[0], session.ErrState)
	require.ErrorContains(t, errs[0], "the disk is full")
	require.ErrorIs(t, errs[1], session.ErrHalted)
	require.ErrorContains(t, errs[1], "the disk is full")
}

func TestTheStatesKeptForADesyncAreSavedAsTheLoopsAre(t *testing.T) {
	stores := 0
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		if c.Self == 0 {
			c.Save = func(places int) (snapshot.Store[state], error) {
				stores++
				return snapshot.Assign[state](places)
			}
		}
	})
	require.Equal(t, 1, stores, "the loop's own")
	m.runUntil(10 * session.DefaultFingerprintEvery)
	require.Equal(t, 2, stores, "room for the first states that wait to be compared")
}
