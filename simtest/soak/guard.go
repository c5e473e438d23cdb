package soak

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// PanicError is a panic of the game or of the engine while a match was played.
type PanicError struct {
	Value any
	Stack string
}

func (p *PanicError) Error() string { return fmt.Sprintf("soak: the match panicked: %v", p.Value) }

// interrupted is the panic by which a play is left in its middle.
type interrupted struct{}

// guard makes an error of a panic, so that it can be told which match it was.
func guard(play func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case interrupted:
			err = context.Canceled
		default:
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return play()
}

// Check plays a scenario twice, as simtest.CheckScenario does, but stops in its middle when
// ctx ends, with ctx's error, and returns a panic as a *PanicError.
func Check[S any, I comparable](ctx context.Context, g simtest.Game[S, I], s simtest.Scenario) (r simtest.Report, err error) {
	err = stoppable(ctx, g, func(g simtest.Game[S, I]) error {
		r, err = simtest.CheckScenario(g, s)
		return err
	})
	return r, err
}

// Shrink shrinks a scenario, as simtest.Shrink does, but stops when ctx ends, with ctx's
// error, and returns a panic as a *PanicError.
func Shrink[S any, I comparable](ctx context.Context, g simtest.Game[S, I], s simtest.Scenario, budget int) (small simtest.Scenario, r simtest.Report, err error) {
	err = stoppable(ctx, g, func(g simtest.Game[S, I]) error {
		small, r, err = simtest.Shrink(g, s, budget)
		return err
	})
	return small, r, err
}

// stoppable lends a game whose workload panics once ctx has ended: the simulation knows no
// contexts, and asks for inputs all the time.
func stoppable[S any, I comparable](ctx context.Context, g simtest.Game[S, I], play func(g simtest.Game[S, I]) error) error {
	var over atomic.Bool
	defer context.AfterFunc(ctx, func() { over.Store(true) })()
	if input := g.Input; input != nil {
		g.Input = func(r *rng.PCG, p driftback.Participant, t driftback.Tick) I {
			if over.Load() {
				panic(interrupted{})
			}
			return input(r, p, t)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := guard(func() error { return play(g) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
