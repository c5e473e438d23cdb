package session

import (
	"encoding"
	"errors"
	"fmt"
	"io"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

// stateBytes turns states into the bytes of which fingerprints are taken, and back.
type stateBytes[S any] struct {
	layout *layout.Layout[S] // nil: by the state's own methods
}

// newStateBytes returns ok == false for a state that cannot be made of its bytes.
func newStateBytes[S any]() (c stateBytes[S], ok bool) {
	if l, err := layout.Of[S](); err == nil {
		return stateBytes[S]{layout: l}, l.Size() > 0
	}
	_, writes := any((*S)(nil)).(encoding.BinaryAppender)
	_, reads := any((*S)(nil)).(encoding.BinaryUnmarshaler)
	return c, writes && reads
}

// make returns the state's bytes in a slice of their own.
func (c stateBytes[S]) make(s *S) ([]byte, error) {
	if c.layout != nil {
		return c.layout.Append(make([]byte, 0, c.layout.Size()+controlBytes), s), nil
	}
	b, err := any(s).(encoding.BinaryAppender).AppendBinary(nil)
	if err == nil && (len(b) == 0 || len(b) > wire.MaxTransferState) {
		err = fmt.Errorf("it made %d bytes, and 1 to %d can be handed over", len(b), wire.MaxTransferState)
	}
	return b, err
}

// give gives a feeder the state as due tick t begins, and what belongs to it.
func (c stateBytes[S]) give(to *feed.Feeder, t driftback.Tick, s *S, sum uint64, control Control) error {
	b, err := c.make(s)
	if err != nil {
		return fmt.Errorf("%w: the state of tick %d cannot be handed over: %w", ErrState, t, err)
	}
	to.Give(t, sum, appendControl(b, control), len(b))
	return nil
}

// parse fills s, and returns what belongs to it.
func (c stateBytes[S]) parse(blob *transfer.Blob, s *S) (Control, error) {
	b, err := io.ReadAll(blob.State())
	if err != nil {
		return Control{}, err
	}
	if c.layout != nil {
		err = c.layout.Parse(b, s)
	} else {
		err = any(s).(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
	}
	if err != nil {
		return Control{}, err
	}
	log, err := io.ReadAll(blob.Log())
	if err != nil {
		return Control{}, err
	}
	return parseControl(log)
}

// controlBytes is how many bytes a control state has, which follow the state's.
const controlBytes = 2

func appendControl(b []byte, c Control) []byte {
	paused := byte(0)
	if c.Paused {
		paused = 1
	}
	return append(b, paused, byte(c.Speed))
}

func parseControl(b []byte) (Control, error) {
	if len(b) != controlBytes || b[0] > 1 || b[1] < 1 || Speed(b[1]) > MaxSpeed {
		return Control{}, errors.New("what follows the state is no control state")
	}
	return Control{Paused: b[0] == 1, Speed: Speed(b[1])}, nil
}
