package quic

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

func TestALinkCarriesBothKindsBothWays(t *testing.T) {
	a, b := linked(t)
	for _, c := range []struct{ from, to *Transport }{{a, b}, {b, a}} {
		require.NoError(t, c.from.SendReliable(c.to.self, []byte("reliable")))
		require.Equal(t, "reliable", string(await(t, c.to, transport.Reliable).Data))
		c.from.Send(c.to.self, []byte("datagram"))
		m := await(t, c.to, transport.Datagram)
		require.Equal(t, "datagram", string(m.Data))
		require.Equal(t, c.from.self, m.From)
	}
}

func TestTheLargestMessagesArrive(t *testing.T) {
	a, b := linked(t)
	large := bytes.Repeat([]byte{0xd7}, MaxDatagram)
	a.Send(1, large)
	require.Equal(t, large, await(t, b, transport.Datagram).Data)
	b.Send(0, large)
	require.Equal(t, large, await(t, a, transport.Datagram).Data)

	huge := bytes.Repeat([]byte{0x1e}, transport.MaxReliable)
	require.NoError(t, a.SendReliable(1, huge))
	require.Equal(t, huge, await(t, b, transport.Reliable).Data)
	require.ErrorIs(t, a.SendReliable(1, append(huge, 0)), transport.ErrTooLong)
}

func TestCloseDeliversWhatWasQueued(t *testing.T) {
	a, b := linked(t)
	for i := range 20 {
		require.NoError(t, a.SendReliable(1, bytes.Repeat([]byte{byte(i)}, 10_000)))
	}
	require.NoError(t, a.Close())
	for i := range 20 {
		require.Equal(t, byte(i), await(t, b, transport.Reliable).Data[0])
	}
	down := await(t, b, transport.Down)
	require.ErrorIs(t, down.Err, ErrPeerClosed)
	require.ErrorContains(t, down.Err, "peer 0")
}
