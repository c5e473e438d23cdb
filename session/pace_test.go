package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// situation is a link and peers that pacing must cope with.
type situation struct {
	peers  int
	window int
	fast   float64 // of peer 0's clock
	late   int     // frames of peer 1
	delay  []int   // input delays
	turns  []int   // after how many ticks each publishes; the others as the last one
	impair func(from, to int) loopback.Impairment
	// apart is by how many ticks the leads differ at least without pacing.
	apart float64
}

func alike(im loopback.Impairment) func(from, to int) loopback.Impairment {
	return func(int, int) loopback.Impairment { return im }
}

func lopsided(from, _ int) loopback.Impairment {
	return loopback.Impairment{Latency: []time.Duration{10 * ms, 200 * ms}[from]}
}

// unlike are links of which each direction has another latency, and the last peer's are
// the longest.
func unlike(n int, bad loopback.Impairment) func(from, to int) loopback.Impairment {
	return func(from, to int) loopback.Impairment {
		im := bad
		im.Latency = time.Duration(15+13*((from*5+to*3)%n)) * ms
		if from == n-1 || to == n-1 {
			im.Latency += 40 * ms
		}
		return im
	}
}

var situations = map[string]situation{
	"100 ms":                               {peers: 2, window: 30, impair: alike(loopback.Impairment{Latency: 100 * ms}), apart: 10},
	"100 ms and a window of 8":             {peers: 2, window: 8, impair: alike(loopback.Impairment{Latency: 100 * ms}), apart: 2.5},
	"a clock that is 1 % fast":             {peers: 2, window: 30, fast: 0.01, impair: alike(loopback.Impairment{Latency: 50 * ms}), apart: 20},
	"1 % fast at 100 ms, a window of 8":    {peers: 2, window: 8, fast: 0.01, impair: alike(loopback.Impairment{Latency: 100 * ms}), apart: 2.5},
	"10 ms one way and 200 ms the other":   {peers: 2, window: 30, impair: lopsided, apart: 11},
	"30 ticks late":                        {peers: 2, window: 60, late: 30, impair: alike(loopback.Impairment{Latency: 50 * ms}), apart: 30},
	"30 ticks late at 100 ms":              {peers: 2, window: 60, late: 30, impair: alike(loopback.Impairment{Latency: 100 * ms}), apart: 30},
	"20 ms of jitter, 5 % loss, 1 % fast":  {peers: 2, window: 30, fast: 0.01, impair: alike(loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.05}), apart: 20},
	"input delays of 0 and 4":              {peers: 2, window: 30, delay: []int{0, 4}, impair: alike(loopback.Impairment{Latency: 100 * ms}), apart: 11},
	"four players on unlike links":         {peers: 4, window: 30, fast: 0.01, impair: unlike(4, loopback.Impairment{}), apart: 20},
	"four, with 20 ms of jitter, 5 % loss": {peers: 4, window: 30, fast: 0.01, impair: unlike(4, loopback.Impairment{Jitter: 20 * ms, Loss: 0.05}), apart: 20},
	"eight players on unlike links":        {peers: 8, window: 30, fast: 0.01, impair: unlike(8, loopback.Impairment{}), apart: 20},
	"turns of 8 ticks, 1 % fast":           {peers: 2, window: 30, fast: 0.01, turns: []int{8}, impair: alike(loopback.Impairment{Latency: 50 * ms}), apart: 20},
	"turns of 8 ticks, a window of 12":     {peers: 2, window: 12, fast: 0.01, turns: []int{8}, impair: alike(loopback.Impairment{Latency: 50 * ms}), apart: 2.5},
	"turns of 1 and of 8 ticks":            {peers: 2, window: 30, turns: []int{1, 8}, impair: alike(loopback.Impairment{Latency: 50 * ms}), apart: 1.4},
}

const everybody = -1

// walk plays more than a minute of it. ignored is the peer that does nothing of what it is told.
func (s *situation) walk(t *testing.T, how follows, ignored int, plant func(pacing.Advice) pacing.Advice) *walk {
	gaits := make([]gait, s.peers)
	for i := range gaits {
		gaits[i].follows, gaits[i].plant = how, plant
		if i == ignored {
			gaits[i].follows = nothing
		}
	}
	gaits[0].fast, gaits[1].late = s.fast, s.late
	w := newWalk(t, gaits, func(c *session.Config[state, input]) {
		c.PredictionWindow = s.window
		if s.delay != nil {
			c.InputDelay = s.delay[c.Self]
		}
		if s.turns != nil {
			c.PublishEvery = s.turns[min(int(c.Self), len(s.turns)-1)]
		}
	})
	for i := range s.peers {
		for j := range s.peers {
			if i != j {
				w.impairOne(driftback.Peer(i), driftback.Peer(j), s.impair(i, j))
			}
		}
	}
	w.walkUntil(72 * time.Second)
	return w
}

// evenly returns an error unless the peers of a walk predicted equally many ticks, from ten
// seconds after the start on. A tick is the least that can be given, so that where only
// whole ones are left out and added, means take longer to tell.
func (w *walk) evenly(t *testing.T, how follows, most float64) error {
	window, brief, swing := 5, 1.1, 0.6
	if how == skips {
		window, brief, swing = 10, 3, 1.6
	}
	f, short := w.figures(window), w.figures(1)
	t.Logf("means of %d s: %v", window, f)
	t.Logf("means of 1 s: %v", short)
	switch {
	case f.amplitude > most:
		return fmt.Errorf("means of %d s are up to %.2f ticks apart", window, f.amplitude)
	case short.amplitude > brief:
		return fmt.Errorf("means of 1 s are up to %.2f ticks apart", short.amplitude)
	case short.swing > swing:
		return fmt.Errorf("means of 1 s swing by %.2f ticks", short.swing)
	case f.residual > 0.35:
		return fmt.Errorf("the means of a minute are %.2f ticks apart", f.residual)
	}
	for _, k := range w.walkers {
		left, added := k.skipped[pacing.LeaveOut], k.skipped[pacing.RunExtra]
		if left+added > 0 {
			t.Logf("peer %d left out %d ticks and added %d, with %d frames between them at least", k.peer.self, left, added, k.closest)
		}
		if left+added > 72 {
			return fmt.Errorf("peer %d left out %d ticks and added %d, in 72 s", k.peer.self, left, added)
		}
		if k.closest < 10 {
			return fmt.Errorf("peer %d left out or added ticks with %d frames between them", k.peer.self, k.closest)
		}
	}
	return nil
}

// Each peer's confirmed states are compared with the oracle all the while.
func TestTenSecondsAfterTheStartAllPeersPredictEquallyManyTicksAndStaySo(t *testing.T) {
	for name, s := range situations {
		t.Run(name, func(t *testing.T) {
			t.Run("nobody paces: the control", func(t *testing.T) {
				f := s.walk(t, nothing, everybody, nil).figures(1)
				t.Log(f)
				require.Greater(t, f.residual, s.apart)
			})
			for ignored := everybody; ignored < 2; ignored++ {
				who := "all follow"
				if ignored != everybody {
					who = fmt.Sprintf("all but peer %d follow", ignored)
				}
				if ignored != everybody && testing.Short() {
					continue
				}
				t.Run(who+" the rate", func(t *testing.T) {
					require.NoError(t, s.walk(t, rates, ignored, nil).evenly(t, rates, 0.5))
				})
				t.Run(who+" the skips", func(t *testing.T) {
					most := 0.5
					if s.peers == 8 && ignored == 1 {
						most = 1 // seven that act on their own in whole ticks, and one that waits for none
					}
					require.NoError(t, s.walk(t, skips, ignored, nil).evenly(t, skips, most))
				})
			}
		})
	}
}

func TestAWrongSignOrTooHighAGainWouldBeNoticed(t *testing.T) {
	thrice := func() func(pacing.Advice) pacing.Advice {
		left, last := 0, pacing.Keep
		return func(a pacing.Advice) pacing.Advice {
			if a.Skip != pacing.Keep {
				left, last = 3, a.Skip
			}
			if left > 0 {
				left--
				a.Skip = last
			}
			return a
		}
	}
	for name, c := range map[string]struct {
		in    string
		how   follows
		plant func(pacing.Advice) pacing.Advice
	}{
		"the rate with the wrong sign": {"100 ms", rates, func(a pacing.Advice) pacing.Advice { a.Rate = 2 - a.Rate; return a }},
		"the skips the wrong way round": {"100 ms", skips, func(a pacing.Advice) pacing.Advice {
			a.Skip = [...]pacing.Skip{pacing.Keep, pacing.RunExtra, pacing.LeaveOut}[a.Skip]
			return a
		}},
		"32 times the gain": {"100 ms", rates, func(a pacing.Advice) pacing.Advice {
			a.Rate = min(max(1+(a.Rate-1)*32, 0.1), 3)
			return a
		}},
		"every skip three times in a row": {"100 ms", skips, thrice()},
		"nobody ever speeds up, and the slow one waits": {"a clock that is 1 % fast", rates, func(a pacing.Advice) pacing.Advice {
			a.Rate = min(a.Rate, 2-a.Rate)
			return a
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := situations[c.in]
			err := s.walk(t, c.how, everybody, c.plant).evenly(t, c.how, 0.5)
			require.Error(t, err)
			t.Log(err)
		})
	}
}

func TestBothSidesPaceAndTheOneBehindMoreThanTheOneAhead(t *testing.T) {
	s := situations["30 ticks late at 100 ms"]
	gaits := []gait{{follows: rates}, {follows: rates, late: s.late}}
	w := newWalk(t, gaits, func(c *session.Config[state, input]) { c.PredictionWindow = s.window })
	w.impair(loopback.Impairment{Latency: 100 * ms})
	var least, most, faster, slower [2]float64
	for now := 2 * time.Second; now < 20*time.Second; now += frame {
		w.walkUntil(now)
		for i, k := range w.walkers {
			off := k.advice.Rate - 1
			least[i], most[i] = min(least[i], off), max(most[i], off)
			faster[i], slower[i] = faster[i]+max(off, 0), slower[i]+max(-off, 0)
		}
	}
	t.Logf("peer 0 ran up to %.1f %% slower, peer 1 up to %.1f %% faster", -100*least[0], 100*most[1])
	require.InDelta(t, pacing.MinCorrection-1, least[0], 0.001, "the one ahead slows down")
	require.InDelta(t, pacing.MaxRate-1, most[1], 0.001, "the one behind speeds up")
	require.Greater(t, most[1], -1.9*least[0])
	require.Greater(t, faster[1], 1.6*slower[0], "all in all, too")
	require.InDelta(t, w.walkers[0].advice.Rate, w.walkers[1].advice.Rate, 0.005, "and then both run alike")
}

func TestPacingNeverTouchesAReSimulation(t *testing.T) {
	// Every call of a walk is held to it: it runs all ticks of its re-simulation, in order and
	// once, and each tick runs for the first time exactly once.
	for name, how := range map[string]follows{"the rate": rates, "the skips": skips} {
		t.Run(name, func(t *testing.T) {
			s := situations["20 ms of jitter, 5 % loss, 1 % fast"]
			w := s.walk(t, how, everybody, nil)
			reruns := 0
			for _, k := range w.walkers {
				reruns += k.reruns
				st := k.peer.session.Stats()
				require.Greater(t, st.Loop.Rollbacks, uint64(300))
				require.EqualValues(t, st.Tick, k.firstRuns)
				require.Greater(t, k.peer.checked, 2000, "confirmed states compared with the oracle")
			}
			if how == skips {
				require.Greater(t, reruns, 3, "calls that re-simulated and advised a skip")
			}
		})
	}
	t.Run("a tick left out of one would be noticed", func(t *testing.T) {
		r := session.Result{Phase: session.Advanced, Rerun: rewind.Span{From: 5, To: 8}}
		require.NoError(t, whole([]driftback.Tick{5, 6, 7, 8}, 8, &r))
		require.ErrorContains(t, whole([]driftback.Tick{5, 7, 8}, 8, &r), "ticks [5 7 8] ran where [5 6 7 8] should have")
		require.Error(t, whole([]driftback.Tick{5, 6, 7}, 8, &r))
		require.Error(t, whole([]driftback.Tick{5, 6, 7, 8}, 9, &r))
	})
}

// A step of peer 1 takes so long that it can run, with what it must run again, only about
// two thirds of the ticks.
func TestAPeerThatCannotKeepUpSlowsEverybodyAndNothingSpirals(t *testing.T) {
	play := func(t *testing.T, how follows, blind bool) *walk {
		gaits := []gait{{follows: how}, {follows: how, cost: 18 * ms, blind: blind}, {follows: how}}
		w := newWalk(t, gaits, nil)
		w.impair(loopback.Impairment{Latency: 50 * ms})
		w.walkUntil(72 * time.Second)
		return w
	}
	perSecond := func(k *walker, from, to int) (n float64) {
		for _, ticks := range k.ticks[from:to] {
			n += float64(ticks) / float64(to-from)
		}
		return n
	}
	stalls := func(w *walk) (n uint64) {
		for _, k := range w.walkers {
			n += k.peer.session.Stats().Stalled
		}
		return n
	}
	control := play(t, nothing, true)
	t.Logf("without: %.1f ticks a second, %d stalls, %v", perSecond(control.walkers[0], 40, 70), stalls(control), control.figures(5))
	require.Greater(t, stalls(control), uint64(500), "the others run to the end of their windows")
	for name, how := range map[string]follows{"the rate": rates, "the skips": skips} {
		t.Run(name, func(t *testing.T) {
			w := play(t, how, false)
			t.Logf("%.1f ticks a second, then %.1f, %d stalls, %v", perSecond(w.walkers[0], 10, 40), perSecond(w.walkers[0], 40, 70), stalls(w), w.figures(10))
			for i, k := range w.walkers {
				early, late := perSecond(k, 10, 40), perSecond(k, 40, 70)
				require.Less(t, late, 55.0, "peer %d is slowed down", i)
				require.Greater(t, late, 30.0, "peer %d", i)
				require.InDelta(t, early, late, 2, "peer %d gets no slower and no slower", i)
			}
			require.Greater(t, w.walkers[1].peer.session.Stats().Pace.Load, 0.9, "and can say why")
			require.Greater(t, w.walkers[0].peer.session.Stats().Peers[0].Pace.Load, 0.9, "the others can see who it is")
			require.Less(t, stalls(w), stalls(control)/5)
		})
	}
}

// paceLiar claims what it likes of its pace.
type paceLiar struct {
	transport.Transport
	packet wire.Packet
	echo   func(e *wire.Echo)
}

func (l *paceLiar) Send(to driftback.Peer, b []byte) {
	if err := l.packet.Parse(b, 2); err == nil && l.packet.Echo.Set {
		l.echo(&l.packet.Echo)
		b, _ = l.packet.Append(nil, 2)
	}
	l.Transport.Send(to, b)
}

func TestWhatAPeerClaimsOfItsPaceSlowsTheGameByTheStatedBoundAtWorst(t *testing.T) {
	for name, c := range map[string]struct {
		lie         func(e *wire.Echo)
		least, most float64 // ticks a second of the others
	}{
		"the truth":                      {func(*wire.Echo) {}, 59, 61.5},
		"to be as far ahead as can be":   {func(e *wire.Echo) { e.Lead = 1<<15 - 1 }, 59, 60 * pacing.MaxRate},
		"to be as far behind as can be":  {func(e *wire.Echo) { e.Lead = -1 << 15 }, 60*pacing.MinCorrection - 1, 61},
		"to be as overloaded as can be":  {func(e *wire.Echo) { e.Load = 255 }, 60*pacing.MinRate - 1, 60},
		"both":                           {func(e *wire.Echo) { e.Lead, e.Load = -1<<15, 255 }, 60*pacing.MinRate - 1, 60},
		"something else with every echo": {func(e *wire.Echo) { e.Lead, e.Load = int16(e.Seq*40503), uint8(e.Seq*151) }, 60*pacing.MinRate - 1, 60 * pacing.MaxRate},
	} {
		t.Run(name, func(t *testing.T) {
			w := &walk{match: newEmptyMatch(t)}
			w.wrap = func(e *loopback.Endpoint) transport.Transport {
				if e.Self() != 2 {
					return e
				}
				return &paceLiar{Transport: e, echo: c.lie}
			}
			w.join([]gait{{follows: rates}, {follows: skips}, {follows: rates}}, func(c *session.Config[state, input]) { c.PredictionWindow = 30 })
			w.impair(loopback.Impairment{Latency: 50 * ms})
			w.walkUntil(40 * time.Second)
			for _, k := range w.walkers[:2] {
				ticks := 0
				for _, n := range k.ticks[10:40] {
					ticks += n
				}
				t.Logf("peer %d ran %.1f ticks a second", k.peer.self, float64(ticks)/30)
				require.GreaterOrEqual(t, float64(ticks)/30, c.least)
				require.LessOrEqual(t, float64(ticks)/30, c.most)
			}
		})
	}
}

func TestStatsTellEverybodysPace(t *testing.T) {
	s := situations["10 ms one way and 200 ms the other"]
	w := s.walk(t, nothing, everybody, nil)
	for i, k := range w.walkers {
		st := k.peer.session.Stats()
		require.InDelta(t, []float64{1, 13}[i], st.Pace.Lead, 0.6, "its own")
		require.InDelta(t, []float64{13, 1}[i], st.Peers[0].Pace.Lead, 0.6, "the other's")
		require.Zero(t, st.Pace.Load, "it has no clock")
	}
}

func TestACallThatStallsCountsInTheMean(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(100)
	m.impair(loopback.Impairment{Blocked: true})
	m.run(200)
	st := m.peers[0].session.Stats()
	require.Greater(t, st.Stalled, uint64(100))
	require.InDelta(t, session.DefaultWindow, st.Pace.Lead, 0.1)
}

func TestTrainingHasItsOwnPace(t *testing.T) {
	s, err := session.New(session.Config[state, input]{Step: step, Players: []driftback.Peer{0, 0}})
	require.NoError(t, err)
	for range 100 {
		r, err := s.Tick(0, input{}, input{})
		require.NoError(t, err)
		require.Equal(t, pacing.Advice{Rate: 1}, r.Pace)
	}
	require.Zero(t, s.Stats().Pace)
}

// A rate of 0 would be a game that never goes on, or a division by it.
func TestWhoWatchesOrComesBackIsToldToPlayAsEver(t *testing.T) {
	asEver := pacing.Advice{Rate: 1}
	m := newReturnMatch(t, 3, func(c *session.Config[state, input]) { c.MaxWatchers = 1 })
	m.runUntil(100)
	s := m.watch(9, nil)
	m.peers[2].crash()
	m.run(30)
	back := m.comeBack(2, nil)
	phases := map[session.Phase]int{}
	for back.session == nil {
		m.run(1)
		r, err := back.joiner.Tick(m.net.Now() + back.drift)
		require.NoError(t, err)
		require.Equal(t, asEver, r.Pace, "of who comes back, %v", r.Phase)
		require.Equal(t, asEver, s.result.Pace, "of who watches, %v", s.result.Phase)
		phases[r.Phase]++
		phases[s.result.Phase]++
	}
	for _, phase := range []session.Phase{session.Joining, session.CatchingUp, session.Advanced} {
		require.Positive(t, phases[phase], "it was never %v", phase)
	}
	s.session.Leave()
	r, err := s.session.Tick(m.net.Now() + 5*time.Hour)
	require.ErrorIs(t, err, session.ErrLeft)
	require.Equal(t, asEver, r.Pace)
}
