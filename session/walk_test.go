package session_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
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
	// cost is what a step takes of its time; a frame is no shorter than that. One that is
	// blind does not measure it.
	cost  time.Duration
	blind bool
	// plant alters the advice before it is followed.
	plant func(a pacing.Advice) pacing.Advice
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
	ticks   []int  // by second: the ticks that it ran
	skipped [3]int // frames by advice
	lastAt  int    // frame of the last tick left out or added
	closest int    // the fewest frames between two of them

	ran       []driftback.Tick // what the step has run since the last call
	firstRuns driftback.Tick   // ticks that have run for the first time
	reruns    int              // calls that re-simulated and whose advice was to skip
}

// walk is a match whose peers have frames of their own.
type walk struct {
	*match
	walkers []*walker
}

func newWalk(t *testing.T, gaits []gait, change func(c *session.Config[state, input])) *walk {
	t.Helper()
	w := &walk{match: newEmptyMatch(t)}
	w.join(gaits, change)
	return w
}

// join lets the peers come.
func (w *walk) join(gaits []gait, change func(c *session.Config[state, input])) {
	for i, g := range gaits {
		if g.phase == 0 {
			g.phase = time.Duration(i) * frame / time.Duration(len(gaits)) * 7 / 10
		}
		k := &walker{gait: g, clock: g.phase, advice: pacing.Advice{Rate: 1}, closest: math.MaxInt}
		w.walkers = append(w.walkers, k)
		k.peer = w.add(w.config(i, len(gaits), func(c *session.Config[state, input]) {
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				k.spent += k.cost
				k.ran = append(k.ran, pass.Tick())
				step(s, in, pass)
			}
			if change != nil {
				change(c)
			}
			if k.cost > 0 && !k.blind {
				c.Clock = func() time.Duration { return k.spent }
			}
		}))
	}
	w.check = func(p *peer, r session.Result) { w.walkers[p.self].note(w, &r) }
}

// note notes how many ticks a call found predicted, and that pacing has left no tick out
// of it.
func (k *walker) note(w *walk, r *session.Result) {
	k.advice = r.Pace
	if k.plant != nil {
		k.advice = k.plant(k.advice)
	}
	require.NoError(w.t, whole(k.ran, k.firstRuns, r), "peer %d", k.peer.self)
	if r.Pace.Skip != pacing.Keep && r.Rerun.Len() > 0 {
		k.reruns++
	}
	k.ran = k.ran[:0]
	require.True(w.t, r.Pace.Rate >= pacing.MinRate && r.Pace.Rate <= pacing.MaxRate, "a rate of %v", r.Pace.Rate)
	if r.Phase != session.Advanced && r.Phase != session.Stalled {
		return
	}
	for s := int(w.net.Now() / time.Second); len(k.leads) <= s; {
		k.leads, k.calls, k.ticks = append(k.leads, 0), append(k.calls, 0), append(k.ticks, 0)
	}
	i := len(k.leads) - 1
	if r.Phase == session.Advanced {
		k.firstRuns++
		k.ticks[i]++
	} else {
		require.Equal(w.t, pacing.Keep, r.Pace.Skip, "a call that stalled has been held back already")
	}
	k.calls[i]++
	k.leads[i] += (float64(max(0, r.Tick-r.Confirmed)) - k.leads[i]) / k.calls[i]
}

// whole returns an error unless a call ran every tick of its re-simulation, in order and
// once, and then the next tick if it advanced.
func whole(ran []driftback.Tick, next driftback.Tick, r *session.Result) error {
	var want []driftback.Tick
	for t := r.Rerun.From; t < r.Rerun.To; t++ {
		want = append(want, t)
	}
	if r.Rerun.Len() > 0 && r.Rerun.To != next {
		return fmt.Errorf("ticks %v were run again, and the next one is %d", r.Rerun, next)
	}
	if r.Phase == session.Advanced {
		want = append(want, next)
	}
	if !slices.Equal(ran, want) {
		return fmt.Errorf("ticks %v ran where %v should have", ran, want)
	}
	return nil
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
		k.note(w, &r)
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
