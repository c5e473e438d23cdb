package natpunch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"github.com/pion/stun/v4"
)

// relayGuard keeps from the library what does not come from the relay, or makes no sense:
// one such packet and it reads no more, and the path through the relay is lost.
type relayGuard struct {
	relay    netip.AddrPort // where packets are sent
	channels []uint16       // that the relay was asked for
	message  stun.Message   // the reader's, for the next that is looked at
}

const (
	channelBind   = 0x0009 // the type of the question for a channel
	channelHeader = 4
	// maxChannels is more than a round has addresses to send to.
	maxChannels = 64
)

// sent takes notice of a packet that is being sent.
func (g *relayGuard) sent(b []byte, to net.Addr) {
	if udp, ok := to.(*net.UDPAddr); ok && !g.relay.IsValid() {
		g.relay = canonical(udp.AddrPort())
	}
	if len(b) < stunHeader || binary.BigEndian.Uint16(b) != channelBind {
		return
	}
	m := stun.Message{Raw: b}
	if m.Decode() != nil {
		return
	}
	number, err := m.Get(stun.AttrChannelNumber)
	if err != nil || len(number) < 2 || len(g.channels) == maxChannels {
		return
	}
	if n := binary.BigEndian.Uint16(number); !slices.Contains(g.channels, n) {
		g.channels = append(g.channels, n)
	}
}

// from says whether a packet comes from the relay.
func (g *relayGuard) from(a net.Addr) bool {
	udp, ok := a.(*net.UDPAddr)
	return ok && g.relay.IsValid() && canonical(udp.AddrPort()) == g.relay
}

// understood says whether the library can make something of a packet of the relay's.
func (g *relayGuard) understood(b []byte) bool {
	if !stun.IsMessage(b) {
		return len(b) >= channelHeader && int(binary.BigEndian.Uint16(b[2:])) <= len(b)-channelHeader &&
			slices.Contains(g.channels, binary.BigEndian.Uint16(b))
	}
	m := &g.message
	m.Raw = b
	defer func() { m.Raw = nil }()
	if m.Decode() != nil {
		return false
	}
	switch m.Type.Class {
	case stun.ClassRequest:
		return false
	case stun.ClassIndication:
		var peer stun.XORMappedAddress
		return m.Type.Method == stun.MethodData && peer.GetFromAs(m, stun.AttrXORPeerAddress) == nil && m.Contains(stun.AttrData)
	default:
		return true
	}
}
