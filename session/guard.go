package session

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/internal/fields"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/snapshot"
)

// ErrWritten means that something outside the step has written to the world that State
// lends, and that Config.Guard was set: see [WrittenError].
var ErrWritten = errors.New("session: something outside the step has written to the world")

// WrittenError names what was written to the world between two calls. It is an
// [ErrWritten].
type WrittenError struct {
	// Tick is the one that the world was about to begin.
	Tick driftback.Tick
	// Path leads to the first field that was written to, in the order of the state's type:
	// "Fighters[1].Health". It is "byte 17" for a state with bytes of its own that can
	// neither be made of them nor copied.
	Path string
	// Was is what the session had left there, and Is what it found.
	Was, Is string
}

func (e *WrittenError) Error() string {
	return fmt.Sprintf("%v, as tick %d was about to begin: %s was %s and is %s; State lends it to be read: draw from a copy if drawing changes it",
		ErrWritten, e.Tick, e.Path, e.Was, e.Is)
}

// Unwrap returns ErrWritten.
func (e *WrittenError) Unwrap() error { return ErrWritten }

// guard finds what is written to the world between two calls: it holds the bytes of which
// fingerprints are taken against those at the end of the call before.
type guard[S any] struct {
	layout *layout.Layout[S] // nil: the state has bytes of its own
	was    []byte
	now    []byte
	kept   bool // was is what the last call left
	// copies has the world as it was, to name a field of a state with bytes of its own, of
	// which it cannot be made; nil: it can, or it cannot be copied either.
	copies snapshot.Store[S]
}

// What the places of guard.copies hold.
const (
	guardWas = iota
	guardIs
	guardPlaces
)

// newGuard returns nil where nothing is to be guarded.
func newGuard[S any](on bool) (*guard[S], error) {
	if !on {
		return nil, nil
	}
	if _, err := fingerprint.New[S](); err != nil {
		return nil, fmt.Errorf("session: Guard is true, and the world cannot be held against what it was: %w", err)
	}
	g := &guard[S]{}
	if l, err := layout.Of[S](); err == nil {
		g.layout = l
		return g, nil
	}
	if _, ok := any((*S)(nil)).(encoding.BinaryUnmarshaler); !ok {
		// Without a way to copy it, the path is that of a byte.
		g.copies, _ = snapshot.For[S](guardPlaces)
	}
	return g, nil
}

// encode returns the state's bytes, in buf where they are made.
func (g *guard[S]) encode(buf []byte, s *S) ([]byte, error) {
	if g.layout != nil {
		return g.layout.Append(buf[:0], s), nil
	}
	b, err := any(s).(encoding.BinaryAppender).AppendBinary(buf[:0])
	if err != nil {
		return b, fmt.Errorf("%w: its AppendBinary, for Guard: %w", ErrState, err)
	}
	return b, nil
}

// keep takes the world as a call leaves it. One with bytes of its own may not have any before
// the match begins.
func (g *guard[S]) keep(s *S, begun bool) (err error) {
	if g == nil || g.layout == nil && !begun {
		return nil
	}
	if g.was, err = g.encode(g.was, s); err != nil {
		return err
	}
	g.kept = true
	if g.copies == nil {
		return nil
	}
	if err := g.copies.Save(guardWas, s); err != nil {
		return fmt.Errorf("%w: a copy of it, for Guard: %w", ErrState, err)
	}
	return nil
}

// look holds the world, as tick t is about to begin, against what the call before has left.
func (g *guard[S]) look(t driftback.Tick, s *S) error {
	if g == nil || !g.kept {
		return nil
	}
	same, err := g.same(s)
	if same || err != nil {
		return err
	}
	if g.layout == nil {
		// What loops over a map makes the same bytes again sooner or later.
		for range 8 {
			switch same, err := g.same(s); {
			case err != nil:
				return err
			case same:
				return fmt.Errorf("%w: its AppendBinary makes other bytes of the same world each time, as a loop over a map does", ErrState)
			}
		}
	}
	d := g.name(s)
	return &WrittenError{Tick: t, Path: d.Path, Was: d.A, Is: d.B}
}

func (g *guard[S]) same(s *S) (_ bool, err error) {
	if g.layout != nil {
		b, inPlace := g.layout.View(g.now, s)
		if !inPlace {
			g.now = b
		}
		return bytes.Equal(g.was, b), nil
	}
	g.now, err = g.encode(g.now, s)
	return bytes.Equal(g.was, g.now), err
}

// name names the first field that differs.
func (g *guard[S]) name(s *S) fingerprint.Difference {
	if g.layout != nil {
		g.now = g.layout.Append(g.now[:0], s)
	}
	at := 0
	for at < len(g.was) && at < len(g.now) && g.was[at] == g.now[at] {
		at++
	}
	if g.layout != nil {
		f, err := g.layout.At(at)
		if err != nil {
			return fingerprint.Difference{} // unreachable: a layout's bytes are as many each time
		}
		bytesOf := func(b []byte) string { return f.Format(b[f.Offset:][:f.Size]) }
		return fingerprint.Difference{Path: fields.OrState(f.Path), A: bytesOf(g.was), B: bytesOf(g.now)}
	}
	// Both pass through the same hands, so that what these leave out is no difference.
	was, is := new(S), new(S)
	if g.fill(was, guardWas, g.was, nil) && g.fill(is, guardIs, g.now, s) {
		if d, ok := fields.Between(was, is); ok {
			return d
		}
	}
	return fingerprint.Difference{Path: "byte " + strconv.Itoa(at), A: byteAt(g.was, at), B: byteAt(g.now, at)}
}

// fill makes a state of its bytes or, where it has to be copied, of the copy in a place, which
// is first made from if that is given.
func (g *guard[S]) fill(into *S, place int, b []byte, from *S) bool {
	if g.copies == nil {
		u, ok := any(into).(encoding.BinaryUnmarshaler)
		return ok && u.UnmarshalBinary(b) == nil
	}
	if from != nil && g.copies.Save(place, from) != nil {
		return false
	}
	return g.copies.Load(place, into) == nil
}

func byteAt(b []byte, at int) string {
	if at >= len(b) {
		return "beyond the last of " + strconv.Itoa(len(b)) + " bytes"
	}
	return "0x" + hex.EncodeToString(b[at:at+1])
}

// guarded ends the match if the world is not what the last call has left.
func (m *Lockstep[S, I]) guarded() { m.check(m.guard.look(m.loop.Next(), m.loop.State())) }

// remember takes the world as this call leaves it.
func (m *Lockstep[S, I]) remember() {
	if m.err == nil {
		m.check(m.guard.keep(m.loop.State(), m.begun))
	}
}

// guarded ends the spectator if the world is not what the last call has left.
func (m *Spectator[S, I]) guarded() {
	if err := m.guard.look(m.next, m.state); err != nil {
		m.fail(err)
	}
}

// remember takes the world as this call leaves it.
func (m *Spectator[S, I]) remember() {
	if m.err != nil {
		return
	}
	if err := m.guard.keep(m.state, m.begun); err != nil {
		m.fail(err)
	}
}
