package quic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/driftback/driftback/identity"
)

// A greeting is the first thing on the stream. The peer that dialled sends its
// own first, with its code; the other's comes back, and is what shows that the
// link works in both directions. Layout, big-endian:
//
//	1  'g'
//	8  instance: random, of the transport
//	4  ups: how many links with this peer the sender has had, this one included
//	   once it has accepted it
//	10 code: zeros when there is none
type greeting struct {
	instance uint64
	ups      uint32
	code     identity.Code
}

const (
	greetingMark = 'g'
	greetingSize = 1 + 8 + 4 + identity.CodeSize
)

func (g greeting) bytes() []byte {
	b := append(make([]byte, 0, greetingSize), greetingMark)
	b = binary.BigEndian.AppendUint64(b, g.instance)
	b = binary.BigEndian.AppendUint32(b, g.ups)
	return append(b, g.code[:]...)
}

func readGreeting(from io.Reader) (g greeting, err error) {
	var b [greetingSize]byte
	if _, err = io.ReadFull(from, b[:]); err != nil {
		return g, err
	}
	if b[0] != greetingMark {
		return g, fmt.Errorf("%w: a greeting begins with %#x", ErrProtocol, b[0])
	}
	g.instance = binary.BigEndian.Uint64(b[1:])
	g.ups = binary.BigEndian.Uint32(b[9:])
	copy(g.code[:], b[13:])
	return g, nil
}

// slot is a place among the pending connections, and what is known of the caller in it.
type slot struct {
	once    sync.Once
	release func()
	addr    net.Addr
	through atomic.Bool // the handshake is over
	id      quicgo.ConnectionID
}

type slotKey struct{}

// slotOf returns the slot of a caller by the context of its connection, or nil.
func slotOf(ctx context.Context) *slot {
	s, _ := ctx.Value(slotKey{}).(*slot)
	return s
}

// connecting is asked by quic-go about every connection that somebody begins.
func (t *Transport) connecting(ctx context.Context, caller *quicgo.ClientInfo) (context.Context, error) {
	if t.pending.Add(1) > maxPending {
		t.pending.Add(-1)
		t.counts.busy.Add(1)
		return nil, ErrBusy
	}
	s := &slot{addr: caller.RemoteAddr}
	s.release = func() { s.once.Do(func() { t.pending.Add(-1) }) }
	context.AfterFunc(ctx, func() { // the handshake failed, or the connection ended
		s.release()
		if !s.through.Load() {
			t.refused(s.addr, reason(context.Cause(ctx), t.idle))
		}
	})
	return context.WithValue(ctx, slotKey{}, s), nil
}

// admissible decides during the handshake whether to talk to a key at all: it is
// pinned, or somebody is expected whose key is not known yet.
func (t *Transport) admissible(pin identity.Pin) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pinned(pin) != nil {
		return nil
	}
	for _, r := range t.remotes {
		if r.pin.IsZero() {
			return nil
		}
	}
	t.counts.refused.Add(1)
	return &identity.PinError{Got: pin}
}

// pinned returns the peer whose key has this pin, or nil.
func (t *Transport) pinned(pin identity.Pin) *remote {
	for _, r := range t.remotes {
		if r.pin.Equal(pin) {
			return r
		}
	}
	return nil
}

// accept takes in whoever calls.
func (t *Transport) accept() {
	for {
		conn, err := t.listener.Accept(t.ctx)
		if err != nil {
			return
		}
		t.running.Go(func() { t.greet(conn) })
	}
}

// greet learns who called, and serves the link if it is somebody we know.
func (t *Transport) greet(conn *quicgo.Conn) {
	if s := slotOf(conn.Context()); s != nil {
		s.through.Store(true)
	}
	l, err := t.answer(conn)
	if err != nil {
		t.refused(conn.RemoteAddr(), ourWord(conn, err))
		_ = conn.CloseWithError(codeFor(err), "")
		return
	}
	l.run()
}

// ourWord is what this side calls it that it refuses a caller.
func ourWord(conn *quicgo.Conn, err error) error {
	switch {
	case errors.Is(err, ErrCodeRefused):
		return errBadCode
	case errors.Is(err, ErrRefused):
		if pin, none := identity.PinOf(conn.ConnectionState().TLS); none == nil {
			return &identity.PinError{Got: pin}
		}
	}
	return err
}

// answer reads the caller's greeting, decides, and sends ours.
func (t *Transport) answer(conn *quicgo.Conn) (*link, error) {
	ctx, cancel := context.WithTimeout(t.ctx, greetTimeout)
	defer cancel()
	// The end of the transport, or of our patience, ends whatever is waited for below.
	stop := context.AfterFunc(ctx, func() {
		code := codeProtocol
		if t.ctx.Err() != nil {
			code = codeClosed
		}
		_ = conn.CloseWithError(code, "")
	})
	defer stop()

	pin, err := identity.PinOf(conn.ConnectionState().TLS)
	if err != nil {
		return nil, err
	}
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		t.counts.malformed.Add(1)
		return nil, err
	}
	theirs, err := readGreeting(stream)
	if err != nil {
		t.counts.malformed.Add(1)
		return nil, err
	}
	l, ours, err := t.admit(conn, stream, pin, theirs)
	if err != nil {
		return nil, err
	}
	if s := slotOf(conn.Context()); s != nil {
		s.release()
		t.spend(s.id)
	}
	if !stop() {
		err = ErrUnanswered
	} else if _, err = stream.Write(ours.bytes()); err == nil {
		return l, nil
	}
	l.end(reason(err, t.idle))
	return nil, err
}

// admit finds the peer that a caller is, and makes the connection the link with
// it. The newest wins: a peer that has crashed and come back must not wait until
// its old connection times out.
func (t *Transport) admit(conn *quicgo.Conn, stream *quicgo.Stream, pin identity.Pin, theirs greeting) (*link, greeting, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, greeting{}, errClosing
	}
	r := t.pinned(pin)
	if r == nil {
		var err error
		if r, err = t.redeem(pin, theirs.code, time.Now()); err != nil {
			t.mu.Unlock()
			return nil, greeting{}, err
		}
	}
	// Two calls between the same peers, one in each direction, must not end each
	// other. While both are open the lower pin's stands. Once it is up, the other is
	// a leftover if the peer made it before it knew: the same process, fewer links.
	lower := t.identity.Pin().Compare(pin) < 0
	leftover := r.current != nil && r.current.dialled &&
		r.current.instance == theirs.instance && theirs.ups < r.current.ups
	if lower && r.calling || leftover {
		t.mu.Unlock()
		return nil, greeting{}, errLinked
	}
	if r.cancelCall != nil {
		r.cancelCall()
	}
	l := newLink(t, r, conn, stream, theirs, false)
	old := r.install(l)
	ours := greeting{instance: t.instance, ups: r.ups}
	t.mu.Unlock()
	if old != nil {
		old.end(ErrReplaced)
	}
	return l, ours, nil
}

// install makes l the link that works and returns the one it replaces, or nil.
// The caller holds Transport.mu.
func (r *remote) install(l *link) (old *link) {
	old = r.current
	r.current, r.next, r.newest = l, l, l
	r.ups++
	r.lastErr = nil
	return old
}

// Codes are asked for one per connection, guessBurst at once and then one per
// guessEvery. No number of guesses ends an invitation: at this rate 80 bits last
// longer than the sun, and a stranger could otherwise keep the friend out.
const (
	guessBurst = 16
	guessEvery = time.Second / 4
)

// bucket limits a rate.
type bucket struct {
	room int
	at   time.Time // when room was last added
}

func (b *bucket) take(now time.Time) bool {
	if n := now.Sub(b.at) / guessEvery; n > 0 {
		b.room = int(min(guessBurst, time.Duration(b.room)+n))
		b.at = now
	}
	if b.room == 0 {
		return false
	}
	b.room--
	return true
}

// redeem pins the key of whoever presents the code of a peer that is expected.
func (t *Transport) redeem(pin identity.Pin, code identity.Code, now time.Time) (*remote, error) {
	if !t.guesses.take(now) {
		t.counts.busy.Add(1)
		return nil, ErrBusy
	}
	var found *remote
	for _, r := range t.remotes {
		// Every one is compared, so that the time taken tells nothing.
		if r.pin.IsZero() && r.code.Equal(code) && !code.IsZero() {
			found = r
		}
	}
	if found == nil {
		t.counts.badCodes.Add(1)
		if code.IsZero() {
			return nil, ErrRefused
		}
		return nil, ErrCodeRefused
	}
	found.pin, found.code = pin, identity.Code{}
	return found, nil
}

var errNoWelcome = errors.New("it does not greet back")
