package identity

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
)

// ErrNotPinned means that the other side proved to hold a key, and not the one
// that was expected. The error is a [*PinError].
var ErrNotPinned = errors.New("identity: the key is not the pinned one")

// PinError says which key was expected and which was shown.
type PinError struct {
	// Want is the pin expected; zero where any of several would have done.
	Want Pin
	Got  Pin
}

// Error returns both pins.
func (e *PinError) Error() string {
	if e.Want.IsZero() {
		return fmt.Sprintf("identity: the key with pin %s is not pinned here", e.Got)
	}
	return fmt.Sprintf("identity: the key has pin %s, and %s is pinned: either it was replaced or somebody else answers", e.Got, e.Want)
}

// Is says that a PinError is [ErrNotPinned].
func (e *PinError) Is(target error) bool { return target == ErrNotPinned }

// ClientConfig returns the TLS configuration with which to dial the peer that
// holds the key with pin want, for the application protocol named. It connects to
// nobody else.
func (id *Identity) ClientConfig(protocol string, want Pin) *tls.Config {
	c := id.config(protocol, func(got Pin) error {
		if !got.Equal(want) {
			return &PinError{Want: want, Got: got}
		}
		return nil
	})
	// The public authorities know nothing of players. VerifyConnection below takes
	// their place, and runs whatever this says.
	c.InsecureSkipVerify = true
	// A constant, so that the address of the peer is not sent in the clear.
	c.ServerName = "driftback"
	return c
}

// ServerConfig returns the TLS configuration with which to accept peers, for the
// application protocol named. admit is asked about the pin of every peer that has
// proved to hold its key, and ends the handshake by returning an error; it may be
// called from any goroutine, several at once.
func (id *Identity) ServerConfig(protocol string, admit func(Pin) error) *tls.Config {
	c := id.config(protocol, admit)
	c.ClientAuth = tls.RequireAnyClientCert
	return c
}

// config is what both sides have in common. TLS itself has checked, before
// VerifyConnection runs, that the other side holds the key of the certificate.
func (id *Identity) config(protocol string, admit func(Pin) error) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{id.certificate},
		NextProtos:   []string{protocol},
		MinVersion:   tls.VersionTLS13,
		// No resumption, and so no early data, which could be replayed.
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if state.NegotiatedProtocol != protocol {
				return fmt.Errorf("identity: the other side speaks %q, not %q", state.NegotiatedProtocol, protocol)
			}
			pin, err := PinOf(state)
			if err != nil {
				return err
			}
			return admit(pin)
		},
	}
}

// PinOf returns the pin of the key that the other side of a connection proved to
// hold.
func PinOf(state tls.ConnectionState) (Pin, error) {
	if n := len(state.PeerCertificates); n != 1 {
		return Pin{}, fmt.Errorf("identity: the other side shows %d certificates and should show 1", n)
	}
	leaf := state.PeerCertificates[0]
	if _, ok := leaf.PublicKey.(ed25519.PublicKey); !ok {
		return Pin{}, fmt.Errorf("identity: the other side's key is a %T, not an ed25519 key", leaf.PublicKey)
	}
	return pinOf(leaf), nil
}
