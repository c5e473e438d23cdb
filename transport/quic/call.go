package quic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/driftback/driftback/identity"
)

// call keeps calling a peer while there is no link with it, until ctx ends or the
// transport closes.
func (t *Transport) call(ctx context.Context, r *remote) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()

	first := t.firstWait(r)
	wait := first
	for attempt := 0; ; attempt++ {
		if !t.unlinked(ctx, r, wait) {
			return
		}
		l, err := t.dial(ctx, r, attempt)
		if err == nil {
			l.run()
			<-l.done
			t.mu.Lock()
			err = l.err
			t.mu.Unlock()
			wait = max(first, minBackoff)
			if errors.Is(err, ErrReplaced) {
				// Another process has our key, or the peer's. Two that keep replacing each
				// other should at least do so slowly.
				wait = maxBackoff
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		wait = min(max(2*wait, minBackoff), maxBackoff)
		if errors.Is(err, errLinked) {
			continue
		}
		addr := t.nameOf(r)
		err = &LinkError{Peer: r.peer, Addr: addr, Err: err}
		t.mu.Lock()
		r.lastErr = err
		final := r.final()
		t.mu.Unlock()
		t.log.Debug("call failed", "peer", r.peer, "addr", addr, "reason", err)
		if final {
			t.log.Warn("calls given up", "peer", r.peer, "addr", addr, "reason", err)
			return // asking again cannot help, and looks like guessing
		}
	}
}

// nameOf returns what to call the address that a peer is called at.
func (t *Transport) nameOf(r *remote) string {
	if literal, err := netip.ParseAddrPort(r.addr); err == nil {
		return t.describe(net.UDPAddrFromAddrPort(literal))
	}
	return r.addr
}

// final reports whether the newest call failed in a way that no other can mend: an
// invitation is good or it is not, while a peer that is pinned may pin us yet.
func (r *remote) final() bool {
	err := r.lastErr
	return !r.code.IsZero() && (errors.Is(err, ErrCodeRefused) || errors.Is(err, ErrRefused) || errors.Is(err, identity.ErrNotPinned))
}

// firstWait is how long to leave the call to the other side.
func (t *Transport) firstWait(r *remote) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.code.IsZero() && t.identity.Pin().Compare(r.pin) > 0 {
		return headStart
	}
	return 0
}

// unlinked waits until the peer can be reached and there has been no link with it
// for the given time. It returns false when ctx has ended.
func (t *Transport) unlinked(ctx context.Context, r *remote, wait time.Duration) bool {
	for {
		if r.ready != nil {
			r.ready(ctx)
		}
		if wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return false
			}
		}
		t.mu.Lock()
		current := r.current
		t.mu.Unlock()
		if current == nil {
			return ctx.Err() == nil
		}
		select {
		case <-current.done:
		case <-ctx.Done():
			return false
		}
	}
}

// dial makes one call and greets. The link that it returns is installed.
func (t *Transport) dial(ctx context.Context, r *remote, attempt int) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*greetTimeout)
	defer cancel()
	t.mu.Lock()
	if r.current != nil {
		t.mu.Unlock()
		return nil, errLinked
	}
	r.cancelCall = cancel
	pin := r.pin
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		r.calling, r.cancelCall = false, nil
		t.mu.Unlock()
	}()

	addresses, err := resolve(ctx, r.addr)
	if err != nil {
		return nil, err
	}
	to := net.UDPAddrFromAddrPort(addresses[attempt%len(addresses)])
	conn, err := t.endpoint.Dial(ctx, to, t.callConfig(pin), t.settings(false))
	if err != nil {
		return nil, t.callError(ctx, r, err)
	}
	l, err := t.introduce(ctx, r, conn)
	if err != nil {
		_ = conn.CloseWithError(codeFor(err), "")
		return nil, t.callError(ctx, r, err)
	}
	return l, nil
}

// callError says why a call failed.
func (t *Transport) callError(ctx context.Context, r *remote, err error) error {
	t.mu.Lock()
	linked := r.current != nil
	t.mu.Unlock()
	switch {
	case linked:
		return errLinked // the call was ended because the other side's had come
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ErrUnanswered
	}
	if err = reason(err, t.idle); errors.Is(err, ErrSilent) {
		return ErrUnanswered
	}
	return err
}

// introduce greets the peer that answered, and makes the connection the link with
// it once the peer has greeted back.
func (t *Transport) introduce(ctx context.Context, r *remote, conn *quicgo.Conn) (*link, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseWithError(codeLinked, "") })
	defer stop()

	t.mu.Lock()
	if ctx.Err() != nil || r.current != nil {
		t.mu.Unlock()
		return nil, errLinked
	}
	r.calling = true
	ours := greeting{instance: t.instance, ups: r.ups, code: r.code}
	t.mu.Unlock()

	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = stream.Write(ours.bytes()); err != nil {
		return nil, err
	}
	theirs, err := readGreeting(stream)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoWelcome, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosing
	}
	if r.current != nil || !stop() {
		return nil, errLinked
	}
	l := newLink(t, r, conn, stream, theirs, true)
	r.install(l)
	r.code = identity.Code{} // it let us in, and now our key does
	return l, nil
}
