// Package snapshot puts a state away and takes it back.
package snapshot

import "fmt"

// Store keeps states in numbered places.
type Store[S any] interface {
	Save(slot int, from *S) error
	Load(slot int, into *S) error
}

// Policy makes a store with the given number of places.
type Policy[S any] func(slots int) (Store[S], error)

// For returns the store that suits S.
func For[S any](slots int) (Store[S], error) { return Assign[S](slots) }

// Assign keeps states by plain assignment.
func Assign[S any](slots int) (Store[S], error) {
	if slots < 1 {
		return nil, fmt.Errorf("snapshot: slots is %d; it must be at least 1", slots)
	}
	return &assigned[S]{slots: make([]S, slots)}, nil
}

type assigned[S any] struct{ slots []S }

func (a *assigned[S]) Save(slot int, from *S) error { a.slots[slot] = *from; return nil }
func (a *assigned[S]) Load(slot int, into *S) error { *into = a.slots[slot]; return nil }
