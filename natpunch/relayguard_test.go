package natpunch

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
)

var theRelay = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 3478}

// indication is how a relay hands on a packet.
func indication(t testing.TB, more ...stun.Setter) []byte {
	t.Helper()
	return build(t, append([]stun.Setter{stun.NewType(stun.MethodData, stun.ClassIndication), stun.TransactionID}, more...)...)
}

// attribute is one of any content.
func attribute(typ stun.AttrType, value ...byte) stun.RawAttribute {
	return stun.RawAttribute{Type: typ, Value: value}
}

func onChannel(number uint16, size int, data string) []byte {
	b := binary.BigEndian.AppendUint16(nil, number)
	return append(binary.BigEndian.AppendUint16(b, uint16(size)), data...)
}

func TestOfARelayIsTakenWhatMakesSense(t *testing.T) {
	const bound = 0x4000
	peer := attribute(stun.AttrXORPeerAddress, 0, 1, 0, 0, 0, 0, 0, 0)
	data := attribute(stun.AttrData, 'x')
	var g relayGuard
	require.False(t, g.from(theRelay), "nothing has been sent to it")
	g.sent(build(t, stun.NewType(stun.MethodChannelBind, stun.ClassRequest), stun.TransactionID, attribute(stun.AttrChannelNumber, bound>>8, 0, 0, 0)), theRelay)
	require.True(t, g.from(theRelay))
	require.False(t, g.from(&net.UDPAddr{IP: theRelay.IP, Port: 9}))
	require.False(t, g.from(&net.TCPAddr{IP: theRelay.IP, Port: theRelay.Port}))
	g.sent(nil, &net.UDPAddr{IP: theRelay.IP, Port: 9})
	require.True(t, g.from(theRelay), "it is where the first packet was sent")

	for name, c := range map[string]struct {
		packet []byte
		taken  bool
	}{
		"an answer":                    {build(t, stun.BindingSuccess, stun.TransactionID), true},
		"a refusal":                    {build(t, stun.BindingError, stun.TransactionID, stun.CodeUnauthorized), true},
		"an answer that is cut":        {build(t, stun.BindingSuccess, stun.TransactionID, data)[:22], false},
		"a question":                   {build(t, stun.BindingRequest, stun.TransactionID), false},
		"what somebody has sent":       {indication(t, peer, data), true},
		"and nothing":                  {indication(t, peer), false},
		"and nobody":                   {indication(t, data), false},
		"and somebody at no address":   {indication(t, attribute(stun.AttrXORPeerAddress), data), false},
		"the probe":                    {probe(0x0017, 0x0012), false},
		"a connection":                 {build(t, stun.NewType(stun.MethodConnectionAttempt, stun.ClassIndication), stun.TransactionID), false},
		"a channel":                    {onChannel(bound, 1, "x"), true},
		"a channel with less than all": {onChannel(bound, 2, "x"), false},
		"a channel nobody asked for":   {onChannel(bound+1, 1, "x"), false},
		"a channel that says the word": {onChannel(bound, 16, "\x21\x12\xa4\x42 and so on, more"), false},
		"half a channel":               {onChannel(bound, 0, "")[:3], false},
		"nothing":                      {nil, false},
		"something else":               {[]byte("something else, and a lot of it"), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.taken, g.understood(c.packet)) })
	}
}

func TestTheChannelsOfARelayAreBounded(t *testing.T) {
	var g relayGuard
	for n := range uint16(3 * maxChannels) {
		for range 2 {
			g.sent(build(t, stun.NewType(stun.MethodChannelBind, stun.ClassRequest), stun.TransactionID, attribute(stun.AttrChannelNumber, 0x40, byte(n), 0, 0)), theRelay)
		}
	}
	require.Len(t, g.channels, maxChannels)
}

// Nothing that is taken ends the library's reader, which an error does.
func FuzzRelayGuard(f *testing.F) {
	for _, b := range junk(f) {
		f.Add(b)
	}
	f.Add(indication(f, attribute(stun.AttrXORPeerAddress, 0, 1, 0, 0, 0, 0, 0, 0), attribute(stun.AttrData, 'x')))
	f.Add(onChannel(0x4000, 1, "x"))
	conn := listenHere(f)
	client, err := turn.NewClient(&turn.ClientConfig{TURNServerAddr: theRelay.String(), Conn: conn})
	require.NoError(f, err)
	f.Cleanup(client.Close)
	g := &relayGuard{channels: []uint16{0x4000}}
	f.Fuzz(func(t *testing.T, b []byte) {
		if g.understood(b) {
			_, err := client.HandleInbound(b, theRelay)
			require.NoError(t, err)
		}
	})
}
