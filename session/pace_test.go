package session_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// follows is what a game does with the advice that it is given.
type follows uint8

const (
	nothing follows = iota
	rates
	skips
)

// gait is how one peer's frames go.
type gait struct {
	follows follows
	fast    float64 // its clock is so much too fast: 0.01 is one per cent
	late    int     // frames for which it runs no tick after the others could have begun
	phase   time.Duration
	// cost is what a step takes of its time; a frame is no shorter than that.
	cost time.Duration
}

// walker is a peer with frames of its own.
type walker struct {
	gait
	peer    *peer
	clock   time.Duration // when its next frame is
	advice  pacing.Advice
	spent   time.Duration // time that steps have taken
	frames  int
	leads   []float64 // by second: the mean of the predicted ticks of its calls
	calls   []float64
	skipped [3]int // frames by advice
	lastAt  int    // frame of the last tick left out or added
	closest int    // the fewest frames between two of them
}

// walk is a match whose peers have frames of their own.
type walk struct {
	*match
	walkers []*walker
}

func newWalk(t *testing.T, gaits []gait, change func(c *session.Config[state, input])) *walk {
	t.Helper()
	w := &walk{match: newEmptyMatch(t)}
	for i, g := range gaits {
		if g.phase == 0 {
			g.phase = time.Duration(i) * frame / time.Duration(len(gaits)) * 7 / 10
		}
		k := &walker{gait: g, clock: g.phase, advice: pacing.Advice{Rate: 1}, closest: math.MaxInt}
		w.walkers = append(w.walkers, k)
		k.peer = w.add(w.config(i, len(gaits), func(c *session.Config[state, input]) {
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				k.spent += k.cost
				step(s, in, pass)
			}
			if change != nil {
				change(c)
			}
			if k.cost > 0 {
				c.Clock = func() time.Duration { return k.spent }
			}
		}))
	}
	w.check = func(p *peer, r session.Result) { w.walkers[p.self].note(w.net.Now(), &r) }
	return w
}

// note notes how many ticks a call found predicted.
func (k *walker) note(now time.Duration, r *session.Result) {
	k.advice = r.Pace
	if r.Phase != session.Advanced && r.Phase != session.Stalled {
		return
	}
	for s := int(now / time.Second); len(k.leads) <= s; {
		k.leads, k.calls = append(k.leads, 0), append(k.calls, 0)
	}
	i := len(k.leads) - 1
	k.calls[i]++
	k.leads[i] += (float64(max(0, r.Tick-r.Confirmed)) - k.leads[i]) / k.calls[i]
}

// walkUntil lets every peer's frames come until so much time has passed.
func (w *walk) walkUntil(end time.Duration) {
	w.t.Helper()
	for {
		k := w.walkers[0]
		for _, other := range w.walkers {
			if other.clock < k.clock {
				k = other
			}
		}
		if k.clock >= end {
			return
		}
		w.net.Advance(k.clock - w.net.Now())
		before := k.spent
		k.frame(w)
		require.NoError(w.t, k.peer.err)
		period := float64(frame) / (1 + k.fast)
		if k.follows == rates {
			period /= k.advice.Rate
		}
		k.clock += max(time.Duration(period), k.spent-before)
	}
}

// frame is one frame of a game that does what it is told.
func (k *walker) frame(w *walk) {
	k.frames++
	ticks := 1
	if k.follows == skips && k.advice.Skip != pacing.Keep {
		k.skipped[k.advice.Skip]++
		if k.lastAt > 0 {
			k.closest = min(k.closest, k.frames-k.lastAt)
		}
		k.lastAt = k.frames
		ticks = map[pacing.Skip]int{pacing.LeaveOut: 0, pacing.RunExtra: 2}[k.advice.Skip]
	}
	if k.late > 0 && k.peer.session.Stats().Tick == 0 {
		r, err := k.peer.session.Poll(w.net.Now() + k.peer.drift)
		require.NoError(w.t, err)
		if r.Phase != session.Joining {
			k.late--
		}
		return
	}
	if ticks == 0 {
		r, err := k.peer.session.Poll(w.net.Now() + k.peer.drift)
		require.NoError(w.t, err)
		require.Equal(w.t, pacing.Keep, r.Pace.Skip, "a call that runs no tick advises nothing")
		k.advice = r.Pace
	}
	for range ticks {
		k.peer.turn()
	}
}

// figures are what came of a walk, over windows of some seconds.
type figures struct {
	settled   int     // after so many seconds the leads stayed within half a tick of each other; −1: never
	residual  float64 // by how much the leads of the last minute differ
	amplitude float64 // and by how much at most those of one window do
	swing     float64 // by how much they move between windows
	lead      float64 // the mean of all
	each      []float64
}

// figures compares the peers' means in windows of so many seconds.
func (w *walk) figures(window int) figures {
	f := figures{settled: -1}
	seconds := math.MaxInt
	for _, k := range w.walkers {
		seconds = min(seconds, len(k.leads)-1)
	}
	mean := func(k *walker, from, to int) (v float64) {
		for s := from; s < to; s++ {
			v += k.leads[s] / float64(to-from)
		}
		return v
	}
	spread := func(from, to int) float64 {
		least, most := math.Inf(1), math.Inf(-1)
		for _, k := range w.walkers {
			v := mean(k, from, to)
			least, most = min(least, v), max(most, v)
		}
		return most - least
	}
	for from := 1; from+window <= seconds; from++ {
		s := spread(from, from+window)
		switch {
		case s > 0.5:
			f.settled = -1
		case f.settled < 0:
			f.settled = from
		}
		if from >= 10 {
			f.amplitude = max(f.amplitude, s)
		}
	}
	f.residual = spread(10, seconds)
	for _, k := range w.walkers {
		f.each = append(f.each, mean(k, 10, seconds))
		f.lead += f.each[len(f.each)-1] / float64(len(w.walkers))
		least, most := math.Inf(1), math.Inf(-1)
		for from := 10; from+window <= seconds; from++ {
			v := mean(k, from, from+window)
			least, most = min(least, v), max(most, v)
		}
		f.swing = max(f.swing, (most-least)/2)
	}
	return f
}

func (f figures) String() string {
	return fmt.Sprintf("settled after %d s, residual %.2f, amplitude %.2f, swing %.2f, lead %.2f of %.1f", f.settled, f.residual, f.amplitude, f.swing, f.lead, f.each)
}

// situation is a link and peers that pacing must cope with.
type situation struct {
	name    string
	peers   int
	window  int
	fast    float64 // of peer 0's clock
	late    int     // frames of peer 1
	delay   []int   // input delays
	impair  func(from, to int) loopback.Impairment
	ignores int // the peer that ignores all advice; −1: none
}

func each(im loopback.Impairment) func(from, to int) loopback.Impairment {
	return func(int, int) loopback.Impairment { return im }
}

func asymmetric(from, _ int) loopback.Impairment {
	return loopback.Impairment{Latency: []time.Duration{10 * ms, 200 * ms}[from]}
}

// far is links of which each has another latency, the last peer's being the longest, and
// each direction another one.
func far(n int) func(from, to int) loopback.Impairment {
	return func(from, to int) loopback.Impairment {
		l := time.Duration(15+13*((from*5+to*3)%n)) * ms
		if from == n-1 || to == n-1 {
			l += 40 * ms
		}
		return loopback.Impairment{Latency: l}
	}
}

var situations = []situation{
	{name: "100 ms", peers: 2, window: 30, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "100 ms, window 8", peers: 2, window: 8, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "a clock that is 1 % fast", peers: 2, window: 30, fast: 0.01, impair: each(loopback.Impairment{Latency: 50 * ms})},
	{name: "1 % fast at 100 ms", peers: 2, window: 30, fast: 0.01, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "1 % fast at 100 ms, window 8", peers: 2, window: 8, fast: 0.01, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "10 ms one way and 200 ms the other", peers: 2, window: 30, impair: asymmetric},
	{name: "30 ticks late", peers: 2, window: 60, late: 30, impair: each(loopback.Impairment{Latency: 50 * ms})},
	{name: "30 ticks late at 100 ms", peers: 2, window: 60, late: 30, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "20 ms of jitter and 5 % loss", peers: 2, window: 30, fast: 0.01, impair: each(loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.05})},
	{name: "different input delays", peers: 2, window: 30, delay: []int{0, 4}, impair: each(loopback.Impairment{Latency: 100 * ms})},
	{name: "four", peers: 4, window: 30, fast: 0.01, impair: far(4)},
	{name: "eight", peers: 8, window: 30, fast: 0.01, impair: far(8)},
	{name: "four, jitter, loss", peers: 4, window: 30, fast: 0.01, impair: func(from, to int) loopback.Impairment {
		im := far(4)(from, to)
		im.Jitter, im.Loss = 20*ms, 0.05
		return im
	}},
}

func (s *situation) walk(t *testing.T, how follows, ignores int) *walk {
	gaits := make([]gait, s.peers)
	for i := range gaits {
		gaits[i].follows = how
		if i == ignores {
			gaits[i].follows = nothing
		}
	}
	gaits[0].fast, gaits[1].late = s.fast, s.late
	w := newWalk(t, gaits, func(c *session.Config[state, input]) {
		c.PredictionWindow = s.window
		if s.delay != nil {
			c.InputDelay = s.delay[c.Self]
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

func TestPaceFigures(t *testing.T) {
	for _, s := range situations {
		for _, how := range []follows{nothing, rates, skips} {
			for ignores := -1; ignores < 2; ignores++ {
				if how == nothing && ignores >= 0 {
					continue
				}
				w := s.walk(t, how, ignores)
				fmt.Printf("%-36s how %d ignored by %2d: 1s: %v\n", s.name, how, ignores, w.figures(1))
				if how == rates {
					fmt.Printf("%-36s              5s: %v\n", "", w.figures(5))
				}
				if how == skips {
					fmt.Printf("%-36s             10s: %v", "", w.figures(10))
					for _, k := range w.walkers {
						fmt.Printf(" %v closest %d", k.skipped, k.closest)
					}
					fmt.Println()
				}
			}
		}
	}
}
