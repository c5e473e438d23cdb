package session

import (
	"encoding"
	"errors"
	"fmt"
	"io"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

// stateBytes turns states into the bytes of which fingerprints are taken, and back.
type stateBytes[S any] struct {
	layout *layout.Layout[S] // nil: by the state's own methods
	slice  func(dst []byte, s *S, at int) int

	room  *held[S] // what was given last
	given uint64   // and as what
}

// newStateBytes returns ok == false for a state that cannot be made of its bytes.
func newStateBytes[S any]() (c stateBytes[S], ok bool) {
	if l, err := layout.Of[S](); err == nil {
		return stateBytes[S]{layout: l, slice: l.Slice}, l.Size() > 0
	}
	_, writes := any((*S)(nil)).(encoding.BinaryAppender)
	return c, writes && fingerprint.Fillable[S]()
}

// source returns where the bytes of a state come from, size of them, and then those of a
// log. By its layout a state is copied into h here, as plain assignment saves it, which is
// all that the call takes: its bytes are made as they are asked for. A state's own
// AppendBinary makes all of them now, and h is not used.
func (c *stateBytes[S]) source(h *held[S], s *S, log []byte) (from transfer.Source, size int, err error) {
	if c.layout != nil {
		h.slice, h.size, h.log = c.slice, c.layout.Size(), append(h.log[:0], log...)
		h.state = *s // alone: beside others it would be copied to the stack first
		return h, h.size, nil
	}
	b, err := any(s).(encoding.BinaryAppender).AppendBinary(nil)
	if err == nil && (len(b) == 0 || len(b) > wire.MaxTransferState) {
		err = fmt.Errorf("it made %d bytes, and 1 to %d can be handed over", len(b), wire.MaxTransferState)
	}
	return transfer.Bytes(append(b, log...)), len(b), err
}

// held is a state as it was, with a log. Nothing changes it while it is a source, so that
// its bytes are the same whenever and for whomever they are made.
type held[S any] struct {
	slice func(dst []byte, s *S, at int) int
	size  int
	state S
	log   []byte
}

// Slice makes the bytes from at on.
func (h *held[S]) Slice(dst []byte, at int) (n int, err error) {
	n = h.slice(dst, &h.state, at)
	if past := at + n - h.size; past >= 0 {
		n += copy(dst[n:], h.log[past:])
	}
	return n, nil
}

// ready makes room for a state that will be given. It writes to all of it: in memory that
// is new the copy takes many times as long, and no tick is to wait for that.
func (c *stateBytes[S]) ready(like *S) {
	if c.layout != nil {
		c.room = &held[S]{}
		c.room.state = *like
	}
}

// give gives a feeder the state as due tick t begins, and what belongs to it.
func (c *stateBytes[S]) give(to *feed.Feeder, t driftback.Tick, s *S, sum uint64, control Control) error {
	if c.room == nil || to.Uses(c.given) {
		c.room = &held[S]{}
	}
	from, size, err := c.source(c.room, s, appendControl(nil, control))
	if err != nil {
		return fmt.Errorf("%w: the state of tick %d cannot be handed over: %w", ErrState, t, err)
	}
	c.given = to.Give(t, sum, from, size, controlBytes)
	return nil
}

// parse fills s, and returns what belongs to it. By its layout a state is made out of the
// blob itself; a state's own UnmarshalBinary needs its bytes in one piece beside it.
func (c *stateBytes[S]) parse(blob *transfer.Blob, s *S) (Control, error) {
	if err := fingerprint.Fill(blob.State(), s); err != nil {
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
