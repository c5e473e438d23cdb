package simtest

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/driftback/driftback"
)

// stepPanic is the panic by which a step's own leaves what ran it: with the tick, and the
// place where it began. A panic of anything else stays what it is.
type stepPanic struct {
	tick  driftback.Tick
	place string
	value any
}

// guarded returns a step whose panic is a stepPanic.
func guarded[S, I any](step driftback.Step[S, I]) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		defer func() {
			switch why := recover().(type) {
			case nil:
			case stepPanic:
				panic(why)
			default:
				panic(stepPanic{pass.Tick(), culprit(), why})
			}
		}()
		step(s, in, pass)
	}
}

// panicked makes a violation of a step's panic in the simulation that peers are compared
// with, as event e was handled.
func (m *match[S, I]) panicked(e event, why stepPanic) {
	m.peers[max(e.peer, 0)].breaksAt(why.place, why.tick, "one simulation that is given every input on time panicked at %s: %v", why.place, why.value)
}

// breaksAt records a panic that began at a place.
func (p *peer[S, I]) breaksAt(place string, t driftback.Tick, format string, args ...any) {
	first := p.m.violation == nil
	p.breaks(RuleInternal, t, format, args...)
	if first {
		p.m.violation.place = place
	}
}

// finding names a step's panic.
func (why *stepPanic) finding(participants int) *Finding {
	return &Finding{
		Mistake: MistakePanics, Tick: why.tick, Look: lookPanics,
		Detail: fmt.Sprintf("with %s it panicked at %s: %v", count(participants, "participant"), why.place, why.value),
	}
}

const lookPanics = "an index that a state or an input can make too large, a nil pointer or map, a division by zero; " +
	"in[p] of a participant that the match does not have: Game.Players says for how many the game is"

// culprit returns where a panic that is being recovered from began: the function, the file
// and the line. One that was caught and went on is the innermost of several.
func culprit() string {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	place, panicked := "an unknown place", false
	for {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			place, panicked = fmt.Sprintf("%s, %s:%d", f.Function, path.Base(f.File), f.Line), false
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return place
		}
	}
}
