package snapshot

import (
	"errors"
	"fmt"
)

// Part saves one part of a state and leaves the rest alone. of returns where in
// a state the part lies; p says how it is saved.
func Part[S, F any](of func(*S) *F, p Policy[F]) Policy[S] {
	return func(places int) (Store[S], error) {
		if of == nil || p == nil {
			return nil, errors.New("snapshot: a part needs a function that finds it and a policy that saves it")
		}
		store, err := p(places)
		if err != nil {
			return nil, err
		}
		return &part[S, F]{of: of, store: store}, nil
	}
}

type part[S, F any] struct {
	of    func(*S) *F
	store Store[F]
}

func (p *part[S, F]) Save(i int, from *S) error { return p.store.Save(i, p.of(from)) }
func (p *part[S, F]) Load(i int, into *S) error { return p.store.Load(i, p.of(into)) }

// Join saves the parts it is given, in order, and nothing else: what no part
// covers survives a rewind, which is right for what never changes in a match and
// wrong for everything else. A state of which one part was saved and a later one
// failed is not to be loaded; Load then says so.
func Join[S any](parts ...Policy[S]) Policy[S] {
	return func(places int) (Store[S], error) {
		h, err := newHeld(places)
		if err != nil {
			return nil, err
		}
		if len(parts) == 0 {
			return nil, errors.New("snapshot: a join of no parts would save nothing")
		}
		j := &joined[S]{held: h, stores: make([]Store[S], len(parts))}
		for k, p := range parts {
			if p == nil {
				return nil, fmt.Errorf("snapshot: part %d of %d has no policy", k, len(parts))
			}
			if j.stores[k], err = p(places); err != nil {
				return nil, fmt.Errorf("%w (part %d of %d)", err, k, len(parts))
			}
		}
		return j, nil
	}
}

type joined[S any] struct {
	held   held
	stores []Store[S]
}

func (j *joined[S]) Save(i int, from *S) error {
	if err := j.held.check(i, false); err != nil {
		return err
	}
	j.held[i] = false
	for k, s := range j.stores {
		if err := s.Save(i, from); err != nil {
			return fmt.Errorf("%w (part %d of %d)", err, k, len(j.stores))
		}
	}
	j.held[i] = true
	return nil
}

func (j *joined[S]) Load(i int, into *S) error {
	if err := j.held.check(i, true); err != nil {
		return err
	}
	for k, s := range j.stores {
		if err := s.Load(i, into); err != nil {
			return fmt.Errorf("%w (part %d of %d)", err, k, len(j.stores))
		}
	}
	return nil
}
