package natpunch

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/signalling"
)

// drawMessage draws any message that may be sent.
func drawMessage(t *rapid.T) (m message) {
	m.ask = rapid.Bool().Draw(t, "ask")
	m.instance = rapid.Uint64Min(1).Draw(t, "instance")
	m.version = rapid.Uint32().Draw(t, "version")
	m.heardInstance = rapid.Uint64().Draw(t, "heard instance")
	m.heardVersion = rapid.Uint32().Draw(t, "heard version")
	m.round = rapid.Uint32Range(0, maxRound).Draw(t, "round")
	if m.round == 0 {
		return m
	}
	m.ufrag = rapid.StringMatching(`[0-9A-Za-z]{16}`).Draw(t, "ufrag")
	m.password = rapid.StringMatching(`[0-9A-Za-z]{32}`).Draw(t, "password")
	m.candidateCount = rapid.IntRange(0, maxCandidates).Draw(t, "candidates")
	for i := range m.candidateCount {
		ip := netip.AddrFrom4([4]byte{byte(rapid.IntRange(1, 223).Filter(func(n int) bool { return n != 169 }).Draw(t, "a")), 0, 0, byte(i)})
		if rapid.Bool().Draw(t, "IPv6") {
			ip = netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)})
		}
		m.candidates[i] = candidate{
			kind:     kind(rapid.IntRange(int(host), int(relay)).Draw(t, "kind")),
			priority: rapid.Uint32().Draw(t, "priority"),
			addr:     netip.AddrPortFrom(ip, rapid.Uint16Min(1).Draw(t, "port")),
		}
	}
	return m
}

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		b := m.bytes()
		require.LessOrEqual(t, len(b), MaxSignal)
		var got message
		require.NoError(t, got.parse(b))
		require.Equal(t, m, got)
		require.Error(t, got.parse(append(b, 0)), "nothing may follow it")
		require.Error(t, got.parse(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]))
	})
}

func TestTheLargestMessageFitsEverySignal(t *testing.T) {
	m := message{instance: 1, round: 1, ufrag: randomText(ufragSize), password: randomText(passwordSize), candidateCount: maxCandidates}
	for i := range m.candidates {
		m.candidates[i] = candidate{kind: host, addr: netip.MustParseAddrPort("[2001:db8::1]:1")}
	}
	require.Len(t, m.bytes(), maxMessage)
	require.LessOrEqual(t, maxMessage, MaxSignal)
	require.LessOrEqual(t, MaxSignal, signalling.MaxMessage)
	require.True(t, alphanumeric(randomText(passwordSize)))
}

func TestAddressesThatMustNotBeTriedAreRefused(t *testing.T) {
	for _, addr := range []string{
		"0.0.0.0:1", "255.255.255.255:1", "224.0.0.1:1", "169.254.1.1:1", "10.0.0.1:0",
		"[::]:1", "[ff02::1]:1", "[fe80::1]:1", "[::ffff:10.0.0.1]:1",
	} {
		m := message{instance: 1, round: 1, ufrag: randomText(ufragSize), password: randomText(passwordSize), candidateCount: 1}
		m.candidates[0] = candidate{kind: host, addr: netip.MustParseAddrPort(addr)}
		require.ErrorIs(t, new(message).parse(m.bytes()), errMalformed, addr)
	}
}

func FuzzMessage(f *testing.F) {
	m := message{instance: 1, round: 1, ufrag: randomText(ufragSize), password: randomText(passwordSize), candidateCount: 2}
	m.candidates[0] = candidate{kind: host, addr: netip.MustParseAddrPort("10.0.0.1:1")}
	m.candidates[1] = candidate{kind: relay, addr: netip.MustParseAddrPort("[2001:db8::1]:1")}
	f.Add(m.bytes())
	f.Add((&message{instance: 1}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		if m.parse(b) == nil {
			require.Equal(t, b, m.bytes(), "every message has one form")
		}
	})
}
