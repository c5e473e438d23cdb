package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/driftback/driftback/simtest"
)

// None switches a setting off, as in package session.
const None = simtest.None

const (
	// DefaultCount is how many seeds are played where neither a count nor a time is given.
	DefaultCount = 1_000
	// DefaultEvery is how often progress is told.
	DefaultEvery = time.Second
	// MaxParallel is how many matches are played at once at most.
	MaxParallel = 1_024
	// MaxFailures is how many failures are kept; those beyond are counted.
	MaxFailures = 100
	// MaxShrunk is how many failures are shrunk, which takes a while.
	MaxShrunk = 10
	// MaxTraces is in how many matches, at most, each trace is told apart from all others.
	MaxTraces = 4 << 20
)

// Options says what Run does. The zero value is fine.
type Options struct {
	// First is the first seed, and Count how many there are; 0: as many as Budget has time
	// for, and without a Budget DefaultCount.
	First, Count uint64
	// Shape is what their scenarios are to have in common.
	Shape simtest.Shape
	// Budget is how long matches are begun for; 0: until the seeds are used up. What then
	// runs is finished, and failures are shrunk after it.
	Budget time.Duration
	// Parallel is how many matches are played at once; 0: as many as Go may use cores.
	Parallel int
	// Once plays each seed once. Otherwise it is played twice, because a match that
	// depends on more than its seed cannot be replayed.
	Once bool
	// KeepGoing goes on after a failure. Otherwise no seed above it is played.
	KeepGoing bool
	// Shrink is how many plays are spent on shrinking each failure; 0:
	// simtest.DefaultBudget; None: failures are not shrunk.
	Shrink int
	// Dir is where the scenarios of failures are written; empty: the system's folder for
	// temporary files.
	Dir string
	// Progress, unless it is nil, is told how far the run is: at its beginning, every
	// Every (0: DefaultEvery), and at its end, by Run's own goroutine.
	Progress func(Progress)
	Every    time.Duration
}

// filled returns the options with their defaults, or says which of them is wrong.
func (o Options) filled() (Options, error) {
	if o.Count == 0 && o.Budget == 0 {
		o.Count = DefaultCount
	}
	if o.Parallel == 0 {
		o.Parallel = min(runtime.GOMAXPROCS(0), MaxParallel)
	}
	if o.Count > 0 && o.Parallel > 0 {
		o.Parallel = int(min(uint64(o.Parallel), o.Count))
	}
	if o.Shrink == 0 {
		o.Shrink = simtest.DefaultBudget
	}
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	switch {
	case o.Count > math.MaxUint64-o.First:
		return o, fmt.Errorf("soak: %d seeds from %d on: there is none above %d", o.Count, o.First, uint64(math.MaxUint64))
	case o.Budget < 0:
		return o, fmt.Errorf("soak: Budget is %v: it must not be negative", o.Budget)
	case o.Parallel < 1 || o.Parallel > MaxParallel:
		return o, fmt.Errorf("soak: Parallel is %d: from 1 to %d are allowed, or 0 for all cores", o.Parallel, MaxParallel)
	case o.Shrink < 0 && o.Shrink != None:
		return o, fmt.Errorf("soak: Shrink is %d plays: it must not be negative, or %d for none", o.Shrink, None)
	case o.Shape.Validate() != nil:
		return o, fmt.Errorf("soak: Shape: %w", o.Shape.Validate())
	case o.Every < 0:
		return o, fmt.Errorf("soak: Every is %v: it must not be negative", o.Every)
	}
	return o, nil
}

// outcome is what playing one seed gave.
type outcome struct {
	seed   uint64
	report simtest.Report
	peers  int
	played time.Duration // wall time of the first play
	err    error
}

// run is a run that is going on. Only Run's goroutine touches it.
type run struct {
	o       Options
	start   time.Time
	summary Summary
	traces  map[uint64]struct{}
	// What has come back before a seed below it, by seed; the next to be taken is
	// o.First+summary.Matches.
	waiting map[uint64]outcome
	stopped bool // nothing more is taken
	err     error
}

// Run plays seeds until they, the time or ctx is used up, or one of them breaks a rule. A
// broken rule is a Failure of the summary and no error; an error means that the
// options are wrong, that package session refuses the game, or that a failure's scenario
// could not be written. The summary holds what was played all the same.
//
// When ctx ends, matches that run are finished, nothing is begun or shrunk any more, and
// the summary says so.
func Run[S any, I comparable](ctx context.Context, g simtest.Game[S, I], o Options) (Summary, error) {
	o, err := o.filled()
	if err != nil {
		return Summary{}, err
	}
	r := &run{
		o: o, start: time.Now(),
		summary: Summary{First: o.First, Asked: o.Count, Shape: o.Shape, Parallel: o.Parallel, Twice: !o.Once},
		traces:  map[uint64]struct{}{}, waiting: map[uint64]outcome{},
	}
	r.play(ctx, func(seed uint64) outcome { return playSeed(g, g.Shaped(seed, o.Shape), o.Once) })
	r.summary.Wall = time.Since(r.start)
	if r.err == nil {
		r.err = keepAll(ctx, g, o, r.summary.Failures)
	}
	return r.summary, r.err
}

// play hands seeds out to workers and takes in what comes back.
func (r *run) play(ctx context.Context, playSeed func(seed uint64) outcome) {
	seeds, back := make(chan uint64), make(chan outcome)
	for range r.o.Parallel {
		go func() {
			for seed := range seeds {
				back <- playSeed(seed)
			}
		}()
	}
	defer close(seeds)

	var over <-chan time.Time
	if r.o.Budget > 0 {
		timer := time.NewTimer(r.o.Budget)
		defer timer.Stop()
		over = timer.C
	}
	ticker := time.NewTicker(r.o.Every)
	defer ticker.Stop()
	r.tell(false)
	r.summary.Ended = RangeDone
	// One seed that takes long must not let the others run away from it.
	ahead := uint64(64 * r.o.Parallel)
	next, end := r.o.First, r.o.First+r.o.Count
	if r.o.Count == 0 {
		end = math.MaxUint64
	}
	out, running := seeds, 0
	for out != nil || running > 0 {
		if out != nil && (next == end || r.stopped) {
			out = nil
			continue
		}
		hand := out
		if next-r.o.First >= r.summary.Matches+ahead {
			hand = nil
		}
		select {
		case hand <- next:
			next++
			running++
		case done := <-back:
			running--
			r.waiting[done.seed] = done
			r.take()
		case <-over:
			over = nil
			if out != nil {
				out, r.summary.Ended = nil, TimeUp
			}
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx) // it is over once
			if out != nil {
				out, r.summary.Ended = nil, Interrupted
			}
		case <-ticker.C:
			r.tell(false)
		}
	}
	r.tell(true)
}

// take adds up what has come back, in the order of the seeds.
func (r *run) take() {
	for !r.stopped {
		seed := r.o.First + r.summary.Matches
		done, ok := r.waiting[seed]
		if !ok {
			return
		}
		delete(r.waiting, seed)
		var panicked *PanicError
		if done.err != nil && !errors.As(done.err, &panicked) {
			r.err, r.stopped = fmt.Errorf("soak: seed %d: %w", seed, done.err), true
			r.summary.Ended = Refused
			return
		}
		r.summary.add(&done, r.traces)
		if done.report.Violation == nil && panicked == nil {
			continue
		}
		r.summary.Failed++
		if len(r.summary.Failures) < MaxFailures {
			r.summary.Failures = append(r.summary.Failures, Failure{
				Seed: seed, Violation: done.report.Violation, Panic: panicked, Trace: done.report.Trace,
			})
		}
		if !r.o.KeepGoing {
			r.stopped, r.summary.Ended = true, Failed
		}
	}
}

// playSeed plays the match of one seed.
func playSeed[S any, I comparable](g simtest.Game[S, I], s simtest.Scenario, once bool) outcome {
	done := outcome{seed: s.Seed, peers: len(s.Peers)}
	done.err = guard(func() (err error) {
		start := time.Now()
		done.report, err = simtest.Play(g, s)
		done.played = time.Since(start)
		if once || err != nil || done.report.Violation != nil {
			return err
		}
		done.report, err = simtest.CheckAgain(g, s, done.report)
		return err
	})
	return done
}
