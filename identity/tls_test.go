package identity

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// shake runs a TLS handshake between two configurations and one exchange in each
// direction after it, and returns what each side says.
func shake(t *testing.T, client, server *tls.Config) (clientErr, serverErr error) {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(b, server)
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		_ = b.Close()
		done <- err
	}()
	c := tls.Client(a, client)
	clientErr = c.Handshake()
	if clientErr == nil {
		_, clientErr = c.Read(make([]byte, 1))
	}
	_ = a.Close()
	return clientErr, <-done
}

func only(want Pin) func(Pin) error {
	return func(got Pin) error {
		if !got.Equal(want) {
			return &PinError{Got: got}
		}
		return nil
	}
}

func TestBothSidesMustHoldThePinnedKey(t *testing.T) {
	host, guest, stranger := generate(t), generate(t), generate(t)
	forged := guest.ClientConfig("p", host.Pin())
	forged.Certificates[0].PrivateKey = stranger.key
	bare := guest.ClientConfig("p", host.Pin())
	bare.Certificates = nil

	for name, c := range map[string]struct {
		client, server         *tls.Config
		clientFails, pinFailed bool
	}{
		"two that know each other":              {guest.ClientConfig("p", host.Pin()), host.ServerConfig("p", only(guest.Pin())), false, false},
		"a stranger calls":                      {stranger.ClientConfig("p", host.Pin()), host.ServerConfig("p", only(guest.Pin())), true, true},
		"a stranger answers":                    {guest.ClientConfig("p", host.Pin()), stranger.ServerConfig("p", only(guest.Pin())), true, true},
		"the right certificate without its key": {forged, host.ServerConfig("p", only(guest.Pin())), true, false},
		"no certificate":                        {bare, host.ServerConfig("p", only(guest.Pin())), true, false},
		"another protocol":                      {guest.ClientConfig("q", host.Pin()), host.ServerConfig("p", only(guest.Pin())), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			clientErr, serverErr := shake(t, c.client, c.server)
			require.Equal(t, c.clientFails, clientErr != nil, "%v", clientErr)
			require.Equal(t, c.clientFails, serverErr != nil, "%v", serverErr)
			require.Equal(t, c.pinFailed, errors.Is(errors.Join(clientErr, serverErr), ErrNotPinned))
		})
	}
}

func TestAPinErrorNamesBothPins(t *testing.T) {
	e := &PinError{Want: Pin{1}, Got: Pin{2}}
	require.ErrorContains(t, e, Pin{1}.String())
	require.ErrorContains(t, e, Pin{2}.String())
	require.ErrorContains(t, &PinError{Got: Pin{2}}, "is not pinned here")
	require.NotErrorIs(t, e, tls.AlertError(42))
}
