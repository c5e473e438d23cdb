package quic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
)

var (
	// ErrPeerClosed means that the other side closed its transport.
	ErrPeerClosed = errors.New("it closed the link")
	// ErrSilent means that nothing was heard from the other side for the idle
	// time-out.
	ErrSilent = errors.New("nothing was heard from it")
	// ErrReplaced means that a newer connection with the same key took this one's
	// place: the other side came back, or a second process uses its key, or ours.
	ErrReplaced = errors.New("a newer connection with the same key took its place")
	// ErrProtocol means that what came through the link is not this package's.
	ErrProtocol = errors.New("the bytes make no sense")
	// ErrRefused means that the other side does not have our key pinned.
	ErrRefused = errors.New("it does not have our key pinned")
	// ErrCodeRefused means that the other side does not know our code, or that
	// somebody else has used it. It is not called again, nor is a peer that refuses our
	// key or has another one than the invitation says.
	ErrCodeRefused = errors.New("it refuses our code")
	// ErrBusy means that the other side takes no more calls now. It is called again.
	ErrBusy = errors.New("it takes no more calls now")
	// ErrUnproven means that the other side shows a certificate of a key that it does not hold.
	ErrUnproven = errors.New("it shows a certificate and does not hold its key")
	// ErrVersion means that the other side speaks another version of this package's
	// protocol, or something else.
	ErrVersion = errors.New("it speaks another version of the protocol, and ours is " + protocol)
	// ErrReplayed means that somebody has sent again what a peer once called with.
	ErrReplayed = errors.New("the call is a copy of one that was made before")
	// ErrUnanswered means that nobody answered a call.
	ErrUnanswered = errors.New("nobody answers")

	// errLinked ends a call that lost to another between the same two peers.
	errLinked = errors.New("there is a link already")
	// errClosing ends what was going on when the transport closed.
	errClosing = errors.New("this side closed the transport")
)

// LinkError says what happened to the link with a peer. It is the Err of a Down,
// and wraps one of this package's errors, [identity.ErrNotPinned], or what the
// network said.
type LinkError struct {
	Peer driftback.Peer
	// Addr is the address of the peer, if there was one.
	Addr string
	Err  error
}

// Error names the peer, its address and the reason.
func (e *LinkError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("quic: no link with peer %d: %v", e.Peer, e.Err)
	}
	return fmt.Sprintf("quic: no link with peer %d at %s: %v", e.Peer, e.Addr, e.Err)
}

// Unwrap returns the reason.
func (e *LinkError) Unwrap() error { return e.Err }

// Codes with which a connection is closed. They are part of the protocol: a
// number never changes its meaning.
const (
	codeClosed quicgo.ApplicationErrorCode = iota
	codeReplaced
	codeLinked
	codeRefused
	codeCodeRefused
	codeBusy
	codeProtocol
)

var codeErrors = [...]error{
	codeClosed:      ErrPeerClosed,
	codeReplaced:    ErrReplaced,
	codeLinked:      errLinked,
	codeRefused:     ErrRefused,
	codeCodeRefused: ErrCodeRefused,
	codeBusy:        ErrBusy,
	codeProtocol:    fmt.Errorf("it says of ours that %w", ErrProtocol),
}

// TLS alerts, as QUIC error codes.
const (
	// badCertificate is how Go's TLS refuses a key that VerifyConnection refused.
	badCertificate = 0x100 + 42
	// decryptError is how it refuses a signature by another key than the certificate's.
	decryptError = 0x100 + 51
	// noProtocol is how it refuses who speaks none of its protocols.
	noProtocol = 0x100 + 120
)

// codeFor returns the code that tells the other side why.
func codeFor(err error) quicgo.ApplicationErrorCode {
	for code, e := range codeErrors[:codeProtocol] {
		if errors.Is(err, e) {
			return quicgo.ApplicationErrorCode(code)
		}
	}
	if errors.Is(err, ErrProtocol) {
		return codeProtocol
	}
	return codeClosed
}

// reason says in this package's words why a connection ended.
func reason(err error, idle time.Duration) error {
	var (
		app       *quicgo.ApplicationError
		transport *quicgo.TransportError
		silent    *quicgo.IdleTimeoutError
		handshake *quicgo.HandshakeTimeoutError
		version   *quicgo.VersionNegotiationError
		pin       *identity.PinError
	)
	switch {
	case errors.As(err, &pin):
		return pin
	case errors.As(err, &version), errors.As(err, &transport) && transport.ErrorCode == noProtocol:
		return ErrVersion
	case errors.As(err, &transport) && transport.ErrorCode == decryptError:
		if transport.Remote {
			return errUnprovenHere
		}
		return ErrUnproven
	case errors.As(err, &app) && app.Remote:
		if int(app.ErrorCode) < len(codeErrors) {
			return codeErrors[app.ErrorCode]
		}
		return fmt.Errorf("it closed the link with the unknown code %d", app.ErrorCode)
	case errors.As(err, &transport) && transport.Remote && transport.ErrorCode == badCertificate:
		return ErrRefused
	case errors.As(err, &transport) && transport.Remote && transport.ErrorCode == quicgo.ConnectionRefused:
		return ErrBusy
	case errors.As(err, &silent):
		return fmt.Errorf("%w for %v", ErrSilent, idle)
	case errors.As(err, &handshake), errors.Is(err, context.DeadlineExceeded):
		return ErrUnanswered
	case errors.Is(err, io.EOF):
		return ErrPeerClosed
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: a message ends in the middle", ErrProtocol)
	}
	return err
}
