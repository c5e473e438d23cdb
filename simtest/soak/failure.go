package soak

import (
	"context"
	"errors"
	"fmt"

	"github.com/driftback/driftback/internal/commit"
	"github.com/driftback/driftback/internal/files"
	"github.com/driftback/driftback/simtest"
)

// Failure is a seed that failed.
type Failure struct {
	Seed uint64
	// Violation is the rule that was broken. It is nil where the match panicked.
	Violation *simtest.Violation
	Panic     *PanicError
	Trace     uint64
	// Commit says what the program was built from: "1234abcd (with changes)".
	Commit string
	// Whole is the file of the seed's scenario.
	Whole string
	// Shrunk is the file of a smaller one that breaks the same rule, which is Small, and at
	// which event and tick it does is in Less; empty and nil where it was not shrunk,
	// and Why says why.
	Shrunk string
	Small  *simtest.Scenario
	Less   *simtest.Violation
	Why    string
	// Alone is what simtest.SyncTest finds in it, where the step shows a mistake without a
	// network; nil: nothing, or it was not looked for, because the run was interrupted or
	// there were MaxShrunk failures before.
	Alone *simtest.Finding
}

// File returns the file to be replayed: the smaller one, if there is one.
func (f *Failure) File() string {
	if f.Shrunk != "" {
		return f.Shrunk
	}
	return f.Whole
}

// Err returns what was broken.
func (f *Failure) Err() error {
	if f.Violation == nil {
		return f.Panic
	}
	return f.Violation
}

// keepAll writes failures down and shrinks the first of them. The lowest seed comes first,
// so that an interrupt costs the others.
func keepAll[S any, I comparable](ctx context.Context, g simtest.Game[S, I], o Options, failures []Failure) error {
	for i := range failures {
		f := &failures[i]
		f.Commit = commit.Find().String()
		s := g.Shaped(f.Seed, o.Shape)
		name := files.Name(g.Name, f.Seed)
		var err error
		if f.Whole, err = files.Write(o.Dir, "whole-"+name, s.JSON()); err != nil {
			return fmt.Errorf("soak: the scenario of seed %d cannot be kept: %w", f.Seed, err)
		}
		if i >= MaxShrunk {
			f.Why = fmt.Sprintf("only the first %d are shrunk", MaxShrunk)
			continue
		}
		shrink(ctx, g, s, o.Shrink, f)
		if ctx.Err() == nil {
			small := s
			if f.Small != nil {
				small = *f.Small
			}
			f.Alone = simtest.Explain(g, small, s)
		}
		if f.Small == nil {
			continue
		}
		if f.Shrunk, err = files.Write(o.Dir, name, f.Small.JSON()); err != nil {
			return fmt.Errorf("soak: the smaller scenario of seed %d cannot be kept: %w", f.Seed, err)
		}
	}
	return nil
}

// shrink looks for a smaller scenario, or says why there is none.
func shrink[S any, I comparable](ctx context.Context, g simtest.Game[S, I], s simtest.Scenario, budget int, f *Failure) {
	switch {
	case budget == None:
		f.Why = "it was not asked for"
	case f.Violation == nil:
		f.Why = "a panic is not shrunk"
	case ctx.Err() != nil:
		f.Why = "the run was interrupted"
	default:
		small, r, err := Shrink(ctx, g, s, budget)
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
			f.Why = "the run was interrupted"
		case err != nil:
			f.Why = err.Error()
		case r.Violation == nil:
			f.Why = "it broke no rule when it was played again: something draws from outside the scenario"
		default:
			f.Small, f.Less = &small, r.Violation
		}
	}
}
